import json
from collections import Counter
from itertools import chain

import pytest
from conftest import SHARED, SUPPORT_DESK
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit.abstention import LONGEST, is_abstention, stance, supports

# Wordings, one a line: what abstains, and what looks like it and answers.
ENGLISH = """
I don't know.
I dont know
i do not know the answer
Don't know
I don’t know, sorry.
I'm not sure.
Not sure.
I am not certain about the date.
No idea.
I have no idea who wrote it.
Unknown
unknown.
UNKNOWN
**Unanswerable**
Not stated: the leaflet names no fee.
Not stated in the document.
Not specified.
Not mentioned in the text
No answer
N/A
n/a
The price is unknown.
The exact date is not known.
It is not known who built the tower.
It's unclear from the passage which year is meant.
The knowledge base does not say.
The context doesn't mention the size of the boat.
The provided documents do not contain this information.
The passage does not provide any information about her age.
There is no information about the fee in the manual.
No information is given about the opening hours.
No information is available.
No information available about the ferry.
We don't have that information.
I cannot answer that.
I can't answer this question based on the given context.
This question cannot be answered from the text.
It cannot be determined from the information provided.
The answer cannot be determined.
I could not find any information on that.
I couldn't find the answer in the documents.
Could not find any information about it.
I was unable to find an answer.
I'm unable to answer that question.
Sorry, I don't have enough information to answer that.
There isn't enough information to answer the question.
Not enough information.
Insufficient information to answer.
I do not have access to live prices, so I can't tell you.
As an AI language model, I don't have access to real-time data.
Based on the provided context, the answer is unknown.
According to the documents, the deadline is not specified.
Answer: unknown
Final answer: I don't know.
Price: not known
Nobody knows who wrote it.
I'm afraid that isn't covered in my documentation. Please contact support.
I looked everywhere but found nothing about it.
My notes say nothing about that.
I have nothing on that.
That I can't say.
I can't say for certain.
I cannot tell from the text.
Unfortunately, I do not know.
We do not know when it was founded.
I don't know whether it was Anna, Ben or Carl who signed.
I have no information about prices, sizes or colours.
Sorry, but that is not something I know.
That's not something I can help with.
I wasn't able to find that. Is there anything else I can help you with?
Hmm, I don't know that one. You could ask the front desk.
The text doesn't say. I would only be guessing.
The document does not specify the deadline; please check with the organiser.
I'm not able to find details on the warranty in the provided documents.
There's no mention of parking in the guide.
There is no mention of a ferry.
None of the documents mention a fee.
None of the sources say who designed it.
I don't have any data on that.
No data available.
The information is not available.
This information is not provided in the context.
The context provides no information on the topic.
The documents contain no information about the ferry.
No details are given about the colour.
The question is unanswerable.
I have no way of knowing that.
It is impossible to say from the text.
Can't tell from the passage.
I don't recall.
I do not know the size of the boat (it is not mentioned in the text).
I don't know. The brochure only covers the main house.
Unknown - the manual doesn't say.
I'm sorry, I don't know the answer to that question. Could you ask the hotel directly?
The letter does not say when, where or why they met.
I do not have that information at the moment.
I don't have details about that at this time.
We have no record of that.
I could find no record of such an order.
My training data does not include this.
The author's birthplace is not mentioned anywhere in the article.
The passage gives no indication of the cost.
There is no way to know that from the text.
It doesn't say.
It's not stated.
It does not mention that.
That is not mentioned.
That's unknown.
Doesn't say
I'm not aware of that information.
I lack the information to answer this.
I lack sufficient context to answer.
Your question is outside the scope of my knowledge, so I can't answer it.
I am unaware of the answer.
I don't know that. The front desk may know more.
I couldn't find this in our help pages. Please, contact support.
I'm not sure. You may want to check with the shop.
Sorry, I can't say. I'd rather not guess.
Not known. It's best to ask at the desk.
As of my last update in 2021, I do not have that information.
I couldn't find any information about Anna Lee, Ben Ray, or Carl Mo.
I do not know who won in 1998.
I couldn't find any information about a film called "The Hat."
Your documents don't say.
The listing doesn't mention a deposit, so I can't say.
I really couldn't tell you.
Sorry, that information isn't in my knowledge base.
Nothing in the provided passages answers this.
I am sorry, but the provided context does not contain the answer to your question.
The context does not include details about the launch date.
Based on the information provided, I cannot determine the answer.
It isn't possible to answer this from the given documents.
The text provides no answer.
This is not something the documents cover.
I have been unable to locate any record of that shipment.
I'm afraid I have no information on that topic.
Unfortunately, the manual is silent about this.
I don't have any knowledge of upcoming events.
I do not have specific information about the price of the ticket.
We currently have no information about that.
No such information is available in the document.
The documents do not specify who signed the contract.
I was not able to find any mention of this in the text.
I can't find that in the handbook.
The passage doesn't give enough information to answer.
There is insufficient information in the text to determine her age.
The answer is not in the text.
The answer is not provided in the passage.
The answer to this question is not known.
The reason is not given.
I wish I knew, but I don't.
I'm not certain.
I am not sure about that one.
I honestly don't know.
That's a good question, but I don't know the answer.
I haven't been told.
I haven't got that information.
I've got no idea.
Cannot be determined.
Cannot be answered from the context.
Not enough context to answer.
No relevant information found.
None of the provided documents answer this question.
The source doesn't mention any date.
There's nothing about that in the manual.
There are no details on the colour of the roof in the article.
I can't confirm that.
I can't verify this information.
This question is outside my area of knowledge.
I don't have that detail.
Our system holds no information on that.
The name of the driver was not disclosed.
It's unknown.
It is not specified.
The author of the poem remains unknown.
No one knows for sure.
It remains a mystery.
Your question can't be answered with the data I have.
I have no record of your order.
My apologies, I do not know.
Information not found.
Data not available.
No data.
Unsure.
I cannot provide an answer to that.
I'm unable to provide that information.
I lack access to that information.
I'm sorry, but I cannot assist with that request.
I don't know; the book never says.
Not known. The leaflet is silent on it.
I do not know when the ferry leaves; you'd have to ask at the port.
I couldn't find when the ferry leaves.
We don't know who the owner is.
I don't know if there is one.
We have no details about the replacement.
There is no answer in the provided text.
[No answer]
<unknown>
Answer: N/A (the text does not say)
I have to admit I don't know.
No clue, sorry.
There is nothing in the documents about a deposit.
The article never mentions her surname.
I couldn't see that in the records.
Nothing on that in the handbook.
The manual leaves this open.
The manual does not go into that.
It's not in the documentation.
That detail is missing from the text.
That is not documented anywhere.
Your guess is as good as mine.
I can't help with that one, sorry!
We have not been given that information.
I do not have an answer for you.
I don't have an answer.
I'm drawing a blank.
Not found in the context.
Unable to determine.
Unable to answer.
Unable to find an answer in the provided documents.
Cannot answer.
No mention in the text.
No mention of it.
No record.
The question can't be answered.
This cannot be known.
There's no telling.
I couldn't find a clear answer to this question.
I could not find a definitive answer.
I didn't find anything about that.
I did not find any information regarding this.
I have searched the help pages but found no answer.
It is not clear who wrote it.
It's not clear from the text.
It has not been established who wrote it.
The identity of the author is not established.
I'm sorry, I don't have the exact figure.
I do not have those numbers.
I'm not privy to that information.
My apologies, but this is beyond what I know.
I am just an assistant and don't know that.
The provided text is about boats and does not mention prices.
"""
ANSWERS_IN_ENGLISH = """
I don't know exactly, but it is 5 euros.
I'm not sure, maybe Oslo.
I'm not sure but I think it was 1998.
I don't know, Paris?
I don't know the exact date, but it was in March.
Not sure, 1998
The Unknown Soldier
Unknown Pleasures
The Tomb of the Unknown Soldier is in Paris.
Nobody knows the trouble I've seen
Nobody
No
No.
None
Nothing
No, it is not available in red.
The coat is not available in size 50.
Towels are not provided.
Breakfast is not included in the price.
Water damage is not covered.
Calls are not recorded.
The company is not listed on the stock exchange.
No information is shared with third parties.
No data is stored.
No records are kept after ten years.
There is no fee.
There is no information desk.
There is no parking.
We have no shops abroad.
We cannot give refunds after 30 days.
I can't give you a discount.
We can't ship batteries.
He is not known for his novels.
It was not known as Istanbul then.
The author is anonymous.
"I Don't Know" by Ozzy Osbourne
Can't Help Falling in Love
I Can't Get No Satisfaction
I can't tell a lie
It's not certain to rain.
He does not know how to swim.
They have no idea.
She couldn't find her keys.
The system does not provide notifications.
The file does not contain macros.
The e-mail doesn't contain attachments.
The app does not show prices.
Do not wash it hot.
It does not contain nuts.
The menu contains no vegan dishes.
The name is not specified, but it is usually Anna.
Unknown, but probably 5 euros
The date is unknown and the price is 5 euros.
The price is 5 euros and the date is unknown.
I could not find the price online. It costs 5 euros in the shop.
The leaflet names a fee of 20 euros.
The leaflet names no fee, the website says 20 euros.
I couldn't find anything in the manual. However, the label says 40 degrees.
I don't know anyone but Paul.
I know of no city other than Oslo.
I don't know of any other than Oslo.
Not only Anna but also Ben
Not until Monday
Not 5 but 6
Not before 9
Not available
No answer was given by the minister before 1998.
Unable to ship before Monday.
Yes, but I don't know when.
Yes. I'm not sure about the time.
No, we have no data on that.
Sorry, the shop closes at 6.
Sorry, no.
Please contact support.
Thank you!
As an AI, I think it is Paris.
I don't know it as Bombay, it's Mumbai.
I'm not sure it matters: 42
The answer is 42.
Ask the front desk.
You can ask the front desk, it opens at 9.
I would guess Oslo.
I'm guessing Oslo.
I'd rather not guess, but Oslo.
The police found nothing.
We found nothing wrong with your device.
We couldn't find any defects in your device.
See no evil
The sky is not clear.
His future is uncertain until 2030
Unsure Start Ltd
It is impossible to open it without a key.
It cannot be opened.
The order cannot be found in the warehouse in Graz.
We need more information: your passport and a photo.
More information is on page 5.
I'm not sure. Please call 555-0142.
I don't know. I'd guess Oslo.
I don't know. They will arrive on Monday.
I'm not sure, but it's best to keep it frozen.
I'm not sure. Please keep it frozen.
I don't have access to live data. As of my last update Paris was the capital.
I don't have the details. However, if you are referring to the film "The Hat," the lead was played by Ann Lee.
I'm not sure. I suggest keeping it cold.
I'm not certain. The document only says Oslo.
I don't know. Try Oslo.
I couldn't find that. It opens at nine.
I don't know, possibly in Oslo or Graz.
I don't know if it helps: Oslo
Unknown (Oslo?)
Not known, Oslo
I have no information about the price. The colour is red.
He didn't know.
Nobody was late.
There is no charge.
No details were lost.
No, there is no mention of a deposit.
The package was not found at the depot.
The ticket is not valid on Sundays.
You cannot change the date.
You don't have to register.
I don't have to pay, you do: 5 euros.
You can't.
Not more than 5 kg
Not allowed
Not required
Not applicable
Not until the end of May
Unlimited
Uncertainty principle
Unknown Mortal Orchestra
The Man Who Knew Too Much
I Know What You Did Last Summer
I do not like green eggs and ham
No Country for Old Men
We do not offer that.
We don't sell tents.
We do not have any tents in stock.
We have no record shop in Graz.
The guarantee does not cover wear.
The price does not include breakfast.
Batteries are not included.
The documents must be signed.
It does not work without water.
It doesn't say no to anyone.
It cannot be returned.
It's impossible to return it.
The manual says not to open it.
The text says that he could not find his way home.
The article says nobody knows Anna's middle name, Ruth.
He was unable to attend.
The answer is no.
The answer is unknown to most people: it is Oslo.
I am unable to walk.
I am not sure of foot
None of them
None of the shops opens on Sunday.
Neither
Nothing is free.
Don't open it.
Do not know-how
Unanswered Prayers
There is insufficient funding.
The reason is not the price, it is the size.
I'm sure it is 5 euros.
I know: Oslo
We know who wrote it: Anna.
Anna does not know who wrote it, Ben does.
If you don't know, ask Anna.
"""
GERMAN = """
Ich weiß es nicht.
Das weiß ich leider nicht.
Ich weiß nicht, wer den Turm gebaut hat.
Keine Ahnung.
Unbekannt
Nicht bekannt: Der Prospekt nennt keine Gebühr.
k. A.
Keine Angabe
Der Preis ist nicht bekannt.
Der Preis ist im Text nicht angegeben.
Das Datum wird im Dokument nicht erwähnt.
Dazu liegen mir keine Informationen vor.
Dazu habe ich keine Informationen.
Ich habe dazu leider keine Angaben gefunden.
Das kann ich Ihnen leider nicht sagen.
Diese Frage kann ich nicht beantworten.
Ich kann diese Frage anhand des Textes nicht beantworten.
Aus dem Text geht das nicht hervor.
In den Unterlagen steht nichts darüber.
Die Wissensdatenbank sagt dazu nichts.
Ich bin mir nicht sicher.
Tut mir leid, das weiß ich nicht. Bitte fragen Sie im Laden nach.
Es gibt keine Informationen zu den Öffnungszeiten.
Das lässt sich nicht sagen.
Mir ist nicht bekannt, wann er eröffnet wurde.
Der Autor ist unbekannt.
Ich konnte dazu nichts finden.
Das Dokument enthält keine Angaben zum Preis.
"""
ANSWERS_IN_GERMAN = """
Ich weiß es nicht genau, aber es kostet 5 Euro.
Ich bin mir nicht sicher, vielleicht Graz.
Keine Ahnung, Graz?
Der unbekannte Soldat
Nein
Keine
Nicht am Montag, sondern am Dienstag
Wir geben keine Rabatte.
Das Material enthält keine Schadstoffe.
Der Text enthält keine Fehler.
Haustiere sind nicht erlaubt.
Der Preis beträgt 5 Euro.
Er ist nicht bekannt für seine Romane.
Nein, das steht nicht im Vertrag.
Die Jacke ist nicht in Rot erhältlich.
Ich weiß es nicht, Graz.
Wir können keine Mängel finden.
Man darf ihn nicht öffnen.
Bitte wenden Sie sich an den Kundendienst.
"""
FRENCH = """
Je ne sais pas.
Je l'ignore.
Inconnu
Aucune idée
Non précisé
Le prix n'est pas précisé dans le document.
Le prix n'est pas connu.
Le document ne mentionne pas la date.
Le texte ne dit rien à ce sujet.
La brochure n'indique aucun prix.
Je n'ai pas d'information à ce sujet.
Je ne dispose d'aucune information sur les horaires.
Désolé, je ne peux pas répondre à cette question.
Je n'ai pas trouvé cette information.
Aucune information n'est disponible.
Aucune information sur le prix
Il n'y a pas d'informations sur le prix.
Je ne suis pas sûr.
On ne sait pas qui l'a écrit.
L'auteur est inconnu.
Impossible de répondre à partir du texte.
Malheureusement, je n'ai pas la réponse. Veuillez contacter le magasin.
"""
ANSWERS_IN_FRENCH = """
Je ne sais pas exactement, mais c'est 5 euros.
Je ne suis pas sûr, peut-être Lyon.
Le Soldat inconnu
Non
Aucun
Les animaux ne sont pas admis.
Le prix est de 5 euros.
Il n'y a pas de parking.
Nous ne pouvons pas rembourser après 30 jours.
Je ne sais pas, Lyon.
Veuillez contacter le magasin.
Le manteau n'est pas disponible en rouge.
"""
SPANISH = """
No lo sé.
No sé.
No sé quién lo escribió.
Desconocido
Se desconoce.
Ni idea
No tengo información sobre eso.
No dispongo de esa información.
No hay información sobre el precio.
No puedo responder a esa pregunta.
Lo siento, no puedo ayudarte con eso.
El texto no dice nada sobre el precio.
El documento no menciona la fecha.
No se menciona en el texto.
El precio no se especifica.
El precio es desconocido.
No he encontrado esa información en los documentos.
No estoy seguro.
No se sabe cuándo se construyó.
Lamentablemente, no lo sé. Por favor, contacte con la tienda.
No especificado
"""
ANSWERS_IN_SPANISH = """
No lo sé exactamente, pero cuesta 5 euros.
No estoy seguro, quizás Lima.
El soldado desconocido
No
Ninguno
No se puede abrir.
No se admiten animales.
No hay aparcamiento.
El abrigo no está disponible en rojo.
No podemos devolver el dinero después de 30 días.
No lo sé, Lima.
Cuesta 5 euros.
"""
ABSTENTIONS = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH}
ANSWERS = {"en": ANSWERS_IN_ENGLISH, "de": ANSWERS_IN_GERMAN, "fr": ANSWERS_IN_FRENCH, "es": ANSWERS_IN_SPANISH}


def listed(by_language):
    return [(language, text) for language, texts in by_language.items() for text in texts.strip().split("\n")]


@pytest.mark.parametrize(("language", "text"), listed(ABSTENTIONS))
def test_an_abstention_is_known_in_whatever_words(language, text):
    assert stance(text, language) == "abstains"


@pytest.mark.parametrize(("language", "text"), listed(ANSWERS))
def test_an_answer_is_no_abstention(language, text):
    assert not is_abstention(text, language)


@pytest.mark.parametrize(
    ("text", "is_what"),
    [
        ("I don't know exactly, but it is 5 euros.", "hedges"),
        ("I couldn't find that. It opens at nine.", "hedges"),
        ("It opens at nine.", "answers"),
        ("", "answers"),
        ("?!", "answers"),
    ],
)
def test_hedging_is_told_from_answering(text, is_what):
    assert stance(text, "en_GB") == is_what


@pytest.mark.parametrize(
    "text",
    [
        "  I don't know. \n",
        "I don\u2019t know.",
        "I DON'T KNOW",
        "**I don't know.**",
        "I don't\nknow.",
        "I don't know.\n\nPlease ask the front desk.",
        "\u201cI don't know.\u201d",
        "[unknown]",
    ],
)
def test_the_form_of_a_text_does_not_matter(text):
    assert is_abstention(text, None)


def test_no_locale_means_english():
    assert is_abstention("I don't know.", None)
    assert not is_abstention("Das weiß ich nicht.", None)
    assert is_abstention("Das weiß ich nicht.", "de-CH")


def test_other_languages_have_only_the_phrases_that_are_given():
    assert supports("en")
    assert not supports("pl_PL")
    assert not is_abstention("Nie wiem.", "pl_PL")
    assert is_abstention("Nie wiem.", "pl_PL", ["nie wiem"])
    assert is_abstention("Nie wiem. Nie wiem!", "pl_PL", ["nie wiem"])
    assert not is_abstention("Nie wiem, Kraków.", "pl_PL", ["nie wiem"])


def test_phrases_add_to_a_language():
    phrases = ["out of scope", "Ask me anything else!"]
    assert not is_abstention("Sorry, out of scope.", "en")
    assert is_abstention("Sorry, out of scope.", "en", phrases)
    assert is_abstention("Ask me anything else!", "en", phrases)
    assert not is_abstention("Out of scope: Oslo", "en", phrases)
    assert not is_abstention("", "en", ["", " "])


def test_an_unknown_locale_is_refused():
    with pytest.raises(ValueError, match="there is no locale 'xx_YY'"):
        is_abstention("I don't know.", "xx_YY")


def test_a_long_text_says_something():
    assert is_abstention("I don't know. " * 5, None)
    assert not is_abstention("I don't know. " * LONGEST, None)


# --- laws ---------------------------------------------------------------------------------------------


def test_courtesy_changes_nothing_and_a_fact_does():
    for text in ENGLISH.strip().split("\n"):
        assert is_abstention(f"I'm sorry. {text}", None), text
        assert is_abstention(f"{text}. Please contact support.", None), text
        assert stance(f"{text}. However, it costs 5 euros.", None) == "hedges", text
        assert stance(f"Oslo. {text}", None) == "hedges", text


_PIECES = [
    *".,:()\"'-5河?",
    "and",
    "or",
    "but",
    "which",
    "unknown",
    "information",
    "nobody",
    "not",
    "no",
    "nothing",
    "say",
]
_PIECES += [
    "weiß",
    "I don't know",
    "the text does not",
    "cannot be",
    "kann ich nicht",
    "ne sait pas",
    "no se sabe",
    "\n\n",
    "\u200b",
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(_PIECES), max_size=60).map(" ".join) | st.text(),
    st.sampled_from([None, "de", "fr", "es", "fi"]),
)
def test_no_text_raises(text, locale):
    assert stance(text, locale, ["not sure"]) in ("abstains", "hedges", "answers")


@pytest.mark.parametrize("piece", ["not ", "no, ", '"', "'", "1", " ", "(", "the text does not ", "I could not find "])
def test_ten_megabytes_take_no_time(piece):
    assert stance(piece * (10_000_000 // len(piece)), "en") in ("abstains", "answers")


@pytest.mark.parametrize("language", sorted(ABSTENTIONS))
def test_the_longest_clauses_take_no_time(language):
    words = chain(ABSTENTIONS[language].split(), ANSWERS[language].split())
    for word in dict.fromkeys(words):
        stance(f"{word} " * (LONGEST // (len(word) + 1)), language)


# --- measured -----------------------------------------------------------------------------------------


def rows(path):
    with path.open() as file:
        return [json.loads(line) for line in file]


def test_the_shipped_set_is_told_apart():
    said = Counter()
    for row in rows(SUPPORT_DESK / "pairs.jsonl"):
        if "acceptable" in row:
            kind = next((tag for tag in ("abstention", "refusal") if tag in row["tags"]), "answer")
            said[kind, stance(row["candidate"], "en_US")] += 1
    assert said == {("abstention", "abstains"): 20, ("refusal", "abstains"): 12, ("answer", "answers"): 433}


@pytest.mark.skipif(not SHARED.exists(), reason="the labelled answers are not at hand")
@pytest.mark.parametrize("name", ["nq", "tq"])
def test_people_accept_hardly_any_abstention(name):
    answers = [row for row in rows(SHARED / "data" / f"evouna_{name}.jsonl") if row["candidate"]]
    abstaining = [row for row in answers if is_abstention(row["candidate"], None)]
    accepted = [row["id"] for row in abstaining if row["acceptable"] is True]
    assert len(abstaining) >= 30
    assert len(accepted) <= 1  # one answer that says that nothing was found was labelled acceptable
    assert not any(is_abstention(reference, None) for row in answers for reference in row["references"] or [])


@pytest.mark.skipif(not SHARED.exists(), reason="the hard inputs are not at hand")
def test_hard_inputs():
    for row in rows(SHARED / "cases" / "answers.jsonl"):
        should = not row["references"] and row["acceptable"]
        assert is_abstention(row["candidate"], "en_US") is should, row["id"]
        assert [r for r in row["references"] if is_abstention(r, "en_US")] == (
            row["references"] if "abstention" in row["kind"] else []
        )
