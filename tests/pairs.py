"""Settings under which a suite runs its cases: every pair of values meets in some run, not every combination of all of them."""

import itertools


def of_row(row):
    """The pairs of values in a row, by the names of their factors."""
    return set(itertools.combinations(row.items(), 2))


def pairs(**factors):
    """Rows {factor: value} in which every value of a factor meets every value of each other factor; the same ones every time. The two
    longest factors meet in a product, which no covering can be shorter than. Each further factor is given to the rows that are there so
    that it meets the most that it has not met, and to further rows for what remains (the algorithm IPO of Lei and Tai, 1998)."""
    order = sorted(factors, key=lambda name: -len(factors[name]))
    rows = [dict(zip(order[:2], values)) for values in itertools.product(*(factors[name] for name in order[:2]))]
    for place, name in enumerate(order[2:], 2):
        missing = {((earlier, value), (name, own)) for earlier in order[:place] for value in factors[earlier] for own in factors[name]}
        for number, row in enumerate(rows):
            values = factors[name][number % len(factors[name]):] + factors[name][:number % len(factors[name])]
            row[name] = max(values, key=lambda own, row=row: len(of_row({**row, name: own}) & missing))
            missing -= of_row(row)
        for (earlier, value), (_, own) in sorted(missing, key=repr):
            if ((earlier, value), (name, own)) not in missing:
                continue
            row = {each: factors[each][len(rows) % len(factors[each])] for each in order[:place]} | {earlier: value, name: own}
            rows.append(row)
            missing -= of_row(row)
    return [{name: row[name] for name in factors} for row in rows]
