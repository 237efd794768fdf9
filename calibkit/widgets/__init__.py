"""Notebook widgets: thin skins over the labelling session and the bands."""

try:
    import anywidget  # noqa: F401
except ImportError:
    raise ImportError("the widgets need anywidget: pip install 'calibkit[notebooks]'") from None

from calibkit.widgets.label_pad import LabelPad

__all__ = ["LabelPad"]
