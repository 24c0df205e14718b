"""Reports: an HTML report of a model, the display of objects in notebooks, and parses compared with a gold tree."""

from treelet.report.gold_comparison import marked, marked_svg
from treelet.report.report_page import ModelReport, report, report_page

__all__ = ["ModelReport", "marked", "marked_svg", "report", "report_page"]
