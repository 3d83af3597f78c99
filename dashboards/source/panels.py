"""The parts that boards consist of, as Grafana's classic JSON (schemaVersion 39) has them.

A panel is a dict without an id and a place; `board` gives it both. Every panel has a title, words that say what it shows and
what to make of it, a unit, and queries. Only panels that every Grafana since version 10 has: timeseries, stat, gauge,
bargauge, table, text.
"""

COLUMNS = 24  # of Grafana's grid
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAG = "caravan"  # what the boards find each other by

GREEN, YELLOW, RED, BLUE, ORANGE, PURPLE, GRAY = "green", "yellow", "red", "blue", "orange", "purple", "#8e8e8e"
# What stands for what it stands for on every board: good is green, lost is orange or red.
COLORS_OF_TIME = {"productive": GREEN, "queue": GRAY, "startup": BLUE, "restore": PURPLE, "rework": ORANGE, "checkpoint_stall": YELLOW,
                  "stalled": RED, "teardown": "dark-blue"}
COLORS_OF_STATES = {"Running": GREEN, "Pending": GRAY, "Queued": YELLOW, "Starting": BLUE, "Restarting": ORANGE, "Stalled": RED, "Failed": "dark-red",
                    "Suspended": PURPLE, "Complete": "dark-green"}


def query(expression, legend="", table=False):
    """`table`: the latest value of each series, for a table, whose columns are the labels and `Value #A`, `Value #B`, ..."""
    result = {"expr": expression, "legendFormat": legend or "__auto"}
    if table:
        result |= {"instant": True, "range": False, "format": "table"}
    return result


def grown(counter, window, by):
    """In whole events: `increase` guesses at what lies beyond its first and last sample."""
    return f"round(sum by ({by}) (increase({counter}[{window}])))"


def thresholds(*steps):
    """thresholds(GREEN, (0.9, YELLOW)): green below 0.9."""
    first, *others = steps
    return {"mode": "absolute", "steps": [{"color": first, "value": None},
                                          *({"color": color, "value": value} for value, color in others)]}


def _panel(kind, title, description, queries, defaults, options, overrides=()):
    targets = [{"refId": chr(ord("A") + index), "datasource": DATASOURCE} | one for index, one in enumerate(queries)]
    return {"type": kind, "title": title, "description": description, "datasource": DATASOURCE, "targets": targets,
            "fieldConfig": {"defaults": defaults, "overrides": list(overrides)}, "options": options}


def _defaults(unit, mode, limits=None, decimals=None, minimum=None, maximum=None, no_value=None):
    values = {"unit": unit, "color": {"mode": mode}, "thresholds": limits or thresholds(GREEN), "decimals": decimals,
              "min": minimum, "max": maximum, "noValue": no_value, "mappings": []}
    return {name: value for name, value in values.items() if value is not None}


def timeseries(title, description, unit, *queries, stacked=False, minimum=0, maximum=None, limits=None, no_value=None,
               logarithmic=False, dashed=(), colors=None):
    """`limits` are drawn as lines; `dashed` names the series that are no measurements; `colors`: by the name of a series."""
    custom = {"drawStyle": "line", "lineWidth": 1 if stacked else 2, "fillOpacity": 60 if stacked else 0, "showPoints": "never",
              "lineInterpolation": "linear", "spanNulls": False, "axisPlacement": "auto",
              "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
              "scaleDistribution": {"type": "log", "log": 10} if logarithmic else {"type": "linear"},
              "thresholdsStyle": {"mode": "line" if limits else "off"}}
    defaults = _defaults(unit, "palette-classic", limits, minimum=None if logarithmic else minimum, maximum=maximum, no_value=no_value)
    overrides = [{"matcher": {"id": "byName", "options": name},
                  "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}},
                                 {"id": "custom.fillOpacity", "value": 0},
                                 {"id": "custom.stacking", "value": {"mode": "none", "group": "B"}}]} for name in dashed]
    overrides += [{"matcher": {"id": "byName", "options": name},
                   "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}]} for name, color in (colors or {}).items()]
    options = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    return _panel("timeseries", title, description, queries, defaults | {"custom": custom}, options, overrides)


_LATEST = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def stat(title, description, unit, expression, limits=None, decimals=None, no_value="-"):
    options = {"reduceOptions": _LATEST, "colorMode": "value", "graphMode": "area", "justifyMode": "auto", "orientation": "auto",
               "textMode": "value"}
    return _panel("stat", title, description, [query(expression)],
                  _defaults(unit, "thresholds", limits or thresholds(BLUE), decimals, no_value=no_value), options)


def gauge(title, description, unit, expression, limits=None, maximum=1, decimals=None, no_value="-"):
    options = {"reduceOptions": _LATEST, "orientation": "auto", "showThresholdLabels": False, "showThresholdMarkers": True}
    return _panel("gauge", title, description, [query(expression)],
                  _defaults(unit, "thresholds", limits or thresholds(BLUE), decimals, 0, maximum, no_value), options)


def bargauge(title, description, unit, expression, legend, limits=None, maximum=None, decimals=None, no_value="-"):
    options = {"reduceOptions": _LATEST, "orientation": "horizontal", "displayMode": "basic", "valueMode": "color",
               "showUnfilled": True, "namePlacement": "auto", "sizing": "auto", "minVizHeight": 16, "maxVizHeight": 300, "minVizWidth": 8}
    return _panel("bargauge", title, description, [query(expression, legend) | {"instant": True, "range": False}],
                  _defaults(unit, "thresholds", limits or thresholds(BLUE), decimals, 0, maximum, no_value), options)


def column(name, unit="short", decimals=None, width=None, limits=None, link=None):
    """How a table shows the column of this name."""
    properties = [{"id": "unit", "value": unit}]
    if decimals is not None:
        properties.append({"id": "decimals", "value": decimals})
    if width is not None:
        properties.append({"id": "custom.width", "value": width})
    if limits is not None:
        properties += [{"id": "thresholds", "value": limits}, {"id": "custom.cellOptions", "value": {"type": "color-text"}}]
    if link is not None:
        properties.append({"id": "links", "value": [link]})
    return {"matcher": {"id": "byName", "options": name}, "properties": properties}


def table(title, description, queries, names, columns=(), hidden=(), order=None, no_value=None):
    """Rows of several queries with the same labels are one. `names`: labels and `Value #A`, ... in the order of the columns,
    with what stands above them; `order`: the column that rows are sorted by, the greatest first."""
    defaults = _defaults("short", "thresholds", no_value=no_value) | {"custom": {"align": "auto", "cellOptions": {"type": "auto"},
                                                                             "inspect": False}}
    sort = [{"displayName": order, "desc": True}] if order else []
    panel = _panel("table", title, description, queries, defaults,
                   {"showHeader": True, "cellHeight": "sm", "sortBy": sort, "footer": {"show": False, "reducer": ["sum"], "fields": ""}},
                   columns)
    panel["transformations"] = [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {name: True for name in ("Time", *hidden)},
                                       "indexByName": {name: index for index, name in enumerate(names)}, "renameByName": dict(names)}}]
    return panel


def text(title, description, markdown):
    return {"type": "text", "title": title, "description": description, "datasource": DATASOURCE,
            "options": {"mode": "markdown", "content": markdown}}


def datasource_variable():
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}, "hide": 0,
            "refresh": 1, "regex": "", "includeAll": False, "multi": False, "options": []}


def label_variable(name, label, values, everything=True):
    """`values`: label_values(...). All is every value and none, so that jobs without a namespace are among them."""
    variable = {"name": name, "label": label, "type": "query", "datasource": DATASOURCE, "definition": values,
                "query": {"query": values, "refId": "StandardVariableQuery"}, "refresh": 2, "sort": 1, "regex": "", "hide": 0,
                "includeAll": everything, "multi": everything, "options": [], "current": {}}
    if everything:
        variable |= {"allValue": ".*", "current": {"selected": True, "text": ["All"], "value": ["$__all"]}}
    return variable


def annotation(name, expression, color, title, value_is_time=False):
    """`value_is_time`: the values are the times, in milliseconds."""
    return {"name": name, "datasource": DATASOURCE, "enable": True, "hide": False, "iconColor": color, "expr": expression,
            "titleFormat": title, "textFormat": "", "tagKeys": "", "step": "", "useValueForTime": value_is_time}


def board(uid, title, description, variables, lines, annotations=()):
    """`lines`: (height, [(width, panel), ...]), from top to bottom."""
    panels, top = [], 0
    for height, parts in lines:
        left = 0
        for width, panel in parts:
            place = {"x": left, "y": top, "w": width, "h": height}
            panels.append({"id": len(panels) + 1, "gridPos": place} | panel)
            left += width
        if left != COLUMNS:
            raise ValueError(f"{title}: the line of {parts[0][1]['title']!r} has {left} columns of {COLUMNS}")
        top += height
    built_in = {"name": "Annotations & Alerts", "builtIn": 1, "type": "dashboard", "enable": True, "hide": True,
                "datasource": {"type": "grafana", "uid": "-- Grafana --"}, "iconColor": "rgba(0, 211, 255, 1)"}
    return {"uid": uid, "title": title, "description": description, "tags": [TAG], "schemaVersion": 39, "version": 1,
            "editable": True, "graphTooltip": 1, "refresh": "30s", "time": {"from": "now-1h", "to": "now"}, "timezone": "browser",
            "fiscalYearStartMonth": 0, "weekStart": "", "timepicker": {}, "liveNow": False,
            "links": [{"type": "dashboards", "title": "Caravan", "tags": [TAG], "asDropdown": False, "includeVars": False,
                       "keepTime": True, "icon": "external link", "targetBlank": False, "tooltip": "", "url": ""}],
            "annotations": {"list": [built_in, *annotations]},
            "templating": {"list": [datasource_variable(), *variables]}, "panels": panels}
