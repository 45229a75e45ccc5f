"""Shares as people read them; the same rule as percent_text in lib/base/text_format.hpp."""


def percent(part, whole, digits=1):
    """A part of a whole in percent. An incomplete share is never rounded to 100, a positive one never to 0."""
    value = 100 * part / whole if whole else 0
    if 0 < part < whole:
        last = 10 ** -digits
        value = min(max(value, last), 100 - last)
    return f"{value:.{digits}f} %"
