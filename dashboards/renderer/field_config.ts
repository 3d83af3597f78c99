// Units, thresholds, colours and overrides of a panel, by Grafana's own code. Grafana 13 no longer exports its list of standard
// options, so those that our boards use are named here; one that is not named would be lost without a word, so the
// names are checked against the board.
import { applyFieldOverrides, DataFrame, FieldConfigOptionsRegistry, GrafanaTheme2, standardFieldConfigEditorRegistry } from '@grafana/data';

const STANDARD = ['unit', 'decimals', 'min', 'max', 'noValue', 'thresholds', 'color', 'mappings', 'links', 'displayName'];
const CUSTOM = [
  'drawStyle', 'lineWidth', 'fillOpacity', 'showPoints', 'lineInterpolation', 'spanNulls', 'axisPlacement', 'stacking',
  'scaleDistribution', 'thresholdsStyle', 'lineStyle', 'align', 'cellOptions', 'inspect', 'width',
];

(standardFieldConfigEditorRegistry as any).setInit(() => []);
const registry = new FieldConfigOptionsRegistry();
for (const [names, isCustom] of [[STANDARD, false], [CUSTOM, true]] as const) {
  for (const name of names) {
    registry.register({
      id: isCustom ? `custom.${name}` : name, path: name, name, isCustom, process: (value: unknown) => value,
      shouldApply: () => true, override: () => null, editor: () => null,
    } as any);
  }
}

function checkNames(config: any): void {
  const names = [
    ...Object.keys(config.defaults).filter((name) => name !== 'custom'),
    ...Object.keys(config.defaults.custom ?? {}).map((name) => `custom.${name}`),
    ...config.overrides.flatMap((override: any) => override.properties.map((property: any) => property.id)),
  ];
  for (const name of names) {
    if (!registry.getIfExists(name)) throw new Error(`the option ${name} is not known here`);
  }
}

// ${__data.fields.NAME} of a link in a table, the only variables that fields have.
function replaceInLink(text: string, scope: any): string {
  const { frame, rowIndex } = scope?.__dataContext?.value ?? {};
  if (!frame) return text;
  return text.replace(/\$\{__data\.fields\.(\w+)\}/g, (_, name) => encodeURIComponent(frame.fields.find((field: any) => field.name === name)?.values[rowIndex] ?? ''))
    .replace('&${__url_time_range}', '');
}

export function withFieldConfig(frames: DataFrame[], config: any, theme: GrafanaTheme2): DataFrame[] {
  checkNames(config);
  return applyFieldOverrides({
    data: frames, fieldConfig: config, replaceVariables: replaceInLink as any, theme, fieldConfigRegistry: registry, timeZone: 'browser',
  } as any);
}
