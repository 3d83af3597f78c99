// A page that draws the boards of dashboards/ from a Prometheus, at the addresses that they have in Grafana: /d/caravan-job. The
// server (serve.py) says at /settings.json how much time is shown and how often it is asked again.
import React from 'react';
import { createRoot } from 'react-dom/client';
import { createTheme, EventBusSrv, ThemeContext } from '@grafana/data';
import { GlobalStyles, PanelContextProvider, PortalContainer } from '@grafana/ui';
import { labelValues, marksOf, Variables } from './prometheus';
import { Panel, View } from './panels';

interface Settings { minutes: number; refresh_seconds: number; scrape_seconds: number; note: string }

const BOARDS = ['job', 'fleet', 'operator'];
const ROW_HEIGHT = 38; // of Grafana's grid, the gap included
const GAP = 8;
const theme = createTheme({ colors: { mode: 'dark' } });

const getJson = async (path: string) => (await fetch(path)).json();

function addressed(): { board: string; chosen: Variables } {
  const board = location.pathname.replace(/^\/d\/caravan-/, '');
  const chosen = Object.fromEntries([...new URLSearchParams(location.search)].filter(([name]) => name.startsWith('var-')).map(([name, value]) => [name.slice(4), value]));
  return { board: BOARDS.includes(board) ? board : 'job', chosen };
}

// Values of the board's variables, each with what there is to choose from; the last job is the one that runs.
async function resolve(dashboard: any, chosen: Variables): Promise<{ variables: Variables; choices: Record<string, string[]> }> {
  const variables: Variables = {}, choices: Record<string, string[]> = {};
  for (const variable of dashboard.templating.list.filter((one: any) => one.type === 'query')) {
    const values = await labelValues(variable.definition, variables);
    choices[variable.name] = variable.includeAll ? ['.*', ...values] : values;
    variables[variable.name] = chosen[variable.name] || (variable.includeAll ? '.*' : values.at(-1) ?? '');
  }
  return { variables, choices };
}

async function makeView(dashboard: any, settings: Settings, chosen: Variables, width: number, revision: number) {
  const { variables, choices } = await resolve(dashboard, chosen);
  const seconds = settings.minutes * 60;
  const step = Math.max(settings.scrape_seconds, Math.ceil(seconds / (width / 6)));
  const to = Math.floor(Date.now() / 1000 / step) * step;
  const rate = Math.max(step + settings.scrape_seconds, 4 * settings.scrape_seconds);
  Object.assign(variables, { __rate_interval: `${rate}s` });
  const range = { from: to - seconds, to, step };
  const marks = (await Promise.all(dashboard.annotations.list.map((one: any) => marksOf(one, variables, range)))).flat();
  return { view: { variables, range, marks, theme, revision } as View, choices };
}

const field = {
  height: 26, padding: '0 8px', borderRadius: 2, background: theme.colors.background.secondary, color: theme.colors.text.primary,
  border: `1px solid ${theme.colors.border.medium}`,
};

function Header({ dashboard, choices, variables, note }: any) {
  const go = (name: string, value: string) => {
    const query = new URLSearchParams(location.search);
    query.set(`var-${name}`, value);
    location.search = query.toString();
  };
  return (
    <div style={{ display: 'flex', gap: 16, alignItems: 'center', padding: `10px ${GAP}px 2px`, fontSize: 14 }}>
      <strong style={{ fontSize: 16 }}>{dashboard.title}</strong>
      {Object.entries(choices as Record<string, string[]>).map(([name, values]) => (
        <label key={name} style={{ display: 'flex', gap: 6, alignItems: 'center' }}>{name} <select style={field} value={variables[name]} onChange={(event) => go(name, event.target.value)}>
          {values.map((value) => <option key={value} value={value}>{value === '.*' ? 'All' : value}</option>)}
        </select></label>
      ))}
      {BOARDS.map((name) => <a key={name} href={`/d/caravan-${name}`} style={{ color: theme.colors.text.link }}>{name}</a>)}
      <span style={{ marginLeft: 'auto', color: theme.colors.text.secondary }}>{note}</span>
    </div>
  );
}

function Board({ dashboard, settings, chosen }: { dashboard: any; settings: Settings; chosen: Variables }) {
  const [width, setWidth] = React.useState(window.innerWidth);
  const [state, setState] = React.useState<any>(null);
  const [problem, setProblem] = React.useState('');
  React.useEffect(() => {
    let revision = 0, timer = 0, stopped = false;
    const refresh = () => makeView(dashboard, settings, chosen, width, ++revision)
      .then((made) => { setState(made); setProblem(''); }, (error) => setProblem(String(error)))
      .finally(() => { if (settings.refresh_seconds && !stopped) timer = window.setTimeout(refresh, 1000 * settings.refresh_seconds); });
    refresh();
    const resized = () => setWidth(window.innerWidth);
    addEventListener('resize', resized);
    return () => { stopped = true; clearTimeout(timer); removeEventListener('resize', resized); };
  }, [dashboard, width]);
  if (!state) return <div className="loading" style={{ padding: 16 }}>{problem || 'Prometheus is asked …'}</div>;
  const column = (width - GAP) / 24;
  const height = Math.max(...dashboard.panels.map((panel: any) => panel.gridPos.y + panel.gridPos.h)) * ROW_HEIGHT + GAP;
  return (
    <>
      <Header dashboard={dashboard} choices={state.choices} variables={state.view.variables} note={problem || settings.note} />
      <div style={{ position: 'relative', height }}>
        {dashboard.panels.map((panel: any) => {
          const { x, y, w, h } = panel.gridPos;
          return (
            <div key={panel.id} style={{ position: 'absolute', left: GAP + x * column, top: GAP + y * ROW_HEIGHT }}>
              <Panel panel={panel} view={state.view} width={w * column - GAP} height={h * ROW_HEIGHT - GAP} />
            </div>
          );
        })}
      </div>
    </>
  );
}

async function start() {
  const { board, chosen } = addressed();
  const [dashboard, settings] = await Promise.all([getJson(`/boards/${board}.json`), getJson('/settings.json')]);
  document.title = dashboard.title;
  const bus = new EventBusSrv();
  const context: any = { eventsScope: 'board', eventBus: bus, canAddAnnotations: () => false, onSeriesColorChange() {}, onToggleSeriesVisibility() {} };
  createRoot(document.getElementById('root')!).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <PanelContextProvider value={context}><Board dashboard={dashboard} settings={settings} chosen={chosen} /></PanelContextProvider>
      <PortalContainer />
    </ThemeContext.Provider>);
}

start().catch((error) => { document.getElementById('root')!.textContent = String(error); });
