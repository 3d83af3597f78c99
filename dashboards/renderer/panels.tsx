// One panel: its questions asked, and drawn by Grafana's own components. Grafana's round gauge is not among what it exports, so a
// gauge is drawn as a bar.
import React from 'react';
import { DataFrame, dateTime, GrafanaTheme2, reduceField, VizOrientation } from '@grafana/data';
import { BarGauge, BarGaugeDisplayMode, BigValue, BigValueColorMode, BigValueGraphMode, BigValueTextMode, PanelChrome, TimeSeries } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { withFieldConfig } from './field_config';
import { framesOf, Mark, Range, Variables } from './prometheus';
import { sortRows, transform } from './transformations';

export interface View { variables: Variables; range: Range; marks: Mark[]; theme: GrafanaTheme2; revision: number }
interface Size { width: number; height: number }
interface Drawn extends Size { panel: any; frames: DataFrame[]; view: View }

async function load(panel: any, view: View): Promise<DataFrame[]> {
  const answers = await Promise.all(panel.targets.map((target: any) => framesOf(target, view.variables, view.range)));
  const frames = transform(answers.flat(), panel.transformations ?? []);
  return withFieldConfig(panel.type === 'table' ? frames.map((frame) => sortRows(frame, panel.options.sortBy)) : frames, panel.fieldConfig, view.theme);
}

// Each annotation as a line over the plot.
function Marks({ config, marks, theme }: { config: any; marks: Mark[]; theme: GrafanaTheme2 }) {
  const latest = React.useRef(marks);
  latest.current = marks;
  React.useLayoutEffect(() => {
    config.addHook('draw', (plot: any) => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      for (const mark of latest.current) {
        const x = Math.round(plot.valToPos(mark.time, 'x', true));
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.strokeStyle = theme.visualization.getColorByName(mark.color);
        ctx.globalAlpha = 0.6;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    });
  }, [config]);
  return null;
}

function Lines({ panel, frames, view, width, height }: Drawn) {
  const { from, to } = view.range;
  const timeRange = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: dateTime(from * 1000), to: dateTime(to * 1000) } };
  return (
    <TimeSeries frames={frames} structureRev={view.revision} width={width} height={height} timeRange={timeRange} timeZone="browser"
      legend={panel.options.legend} options={panel.options}>
      {(config: any) => <Marks config={config} marks={view.marks} theme={view.theme} />}
    </TimeSeries>
  );
}

function latestOf(frame: DataFrame) {
  const field = frame.fields.find((one) => one.type === 'number')!;
  return { field, display: field.display!(reduceField({ field, reducers: ['lastNotNull'] }).lastNotNull) };
}

function Stat({ panel, frames, view, width, height }: Drawn) {
  const { field, display } = latestOf(frames[0]);
  const x = { ...frames[0].fields[0] };
  return (
    <BigValue width={width} height={height} value={display} theme={view.theme} colorMode={BigValueColorMode.Value}
      graphMode={panel.options.graphMode === 'area' && field.values.length > 1 ? BigValueGraphMode.Area : BigValueGraphMode.None}
      textMode={BigValueTextMode.Value} sparkline={{ y: field, x } as any} />
  );
}

function Bars({ frames, view, width, height }: Drawn) {
  const gap = 6;
  const one = Math.min(38, Math.max(16, (height - gap * (frames.length - 1)) / frames.length));
  return (
    <div style={{ display: 'flex', flexDirection: 'column', justifyContent: 'center', gap, height, overflow: 'hidden' }}>
      {frames.map((frame, index) => {
        const { field, display } = latestOf(frame);
        const title = frames.length > 1 || frame.name !== 'value' ? frame.name : undefined;
        return (
          <BarGauge key={index} width={width} height={one} value={{ ...display, title }} field={{ ...field.config, max: field.config.max ?? maximumOf(frames) }}
            theme={view.theme} display={field.display as any} orientation={VizOrientation.Horizontal} displayMode={BarGaugeDisplayMode.Basic} showUnfilled
            alignmentFactors={alignmentOf(frames)} />
        );
      })}
    </div>
  );
}

function maximumOf(frames: DataFrame[]): number {
  return Math.max(...frames.map((frame) => latestOf(frame).display.numeric), 1e-9);
}

// The longest title and value of all bars, so that they stand below each other.
function alignmentOf(frames: DataFrame[]) {
  const longest = (texts: string[]) => texts.reduce((best, text) => (text.length > best.length ? text : best), '');
  return {
    title: `${longest(frames.map((frame) => frame.name ?? ''))}mm`, // letters differ in width
    text: longest(frames.map((frame) => { const shown = latestOf(frame).display; return `${shown.prefix ?? ''}${shown.text}${shown.suffix ?? ''}`; })),
  } as any;
}

function Rows({ frames, view, width, height }: Drawn) {
  return <TableNG data={frames[0]} width={width} height={height} structureRev={view.revision} columnMinWidth={70} cellHeight={'sm' as any} noHeader={false}
    getActions={() => []} replaceVariables={(text: string) => text} timeRange={undefined as any} />;
}

const KINDS: Record<string, (drawn: Drawn) => JSX.Element> = { timeseries: Lines, stat: Stat, gauge: Bars, bargauge: Bars, table: Rows };

function Body({ panel, view, width, height }: { panel: any; view: View } & Size) {
  const [state, setState] = React.useState<{ frames?: DataFrame[]; problem?: string }>({});
  React.useEffect(() => {
    let current = true;
    load(panel, view).then((frames) => current && setState({ frames }), (error) => current && setState({ problem: String(error) }));
    return () => { current = false; };
  }, [panel, view]);
  const centred = { height, display: 'flex', alignItems: 'center', justifyContent: 'center', textAlign: 'center' } as const;
  if (state.problem) return <div className="problem" style={{ ...centred, color: view.theme.colors.error.text }}>{state.problem}</div>;
  if (!state.frames) return <div className="loading" />;
  if (!state.frames.some((frame) => frame.length > 0))
    return <div className="empty" style={{ ...centred, color: view.theme.colors.text.secondary }}>{panel.fieldConfig.defaults.noValue ?? 'No data'}</div>;
  const Kind = KINDS[panel.type];
  return <Kind panel={panel} frames={state.frames} view={view} width={width} height={height} />;
}

// What one panel throws stays in it.
class Fence extends React.Component<{ children: React.ReactNode }, { problem?: string }> {
  state: { problem?: string } = {};
  static getDerivedStateFromError(error: unknown) { return { problem: String(error) }; }
  render() { return this.state.problem ? <div className="problem">{this.state.problem}</div> : this.props.children; }
}

export function Panel({ panel, view, width, height }: { panel: any; view: View } & Size) {
  return (
    <div className="panel" data-title={panel.title}>
      <PanelChrome title={panel.title} description={panel.description} width={width} height={height}>
        {(innerWidth, innerHeight) => <Fence><Body panel={panel} view={view} width={innerWidth} height={innerHeight} /></Fence>}
      </PanelChrome>
    </div>
  );
}
