// What a job is like now, a figure a tile.
import {h, setText} from './dom.js';
import {duration, percent, stateOf} from './format.js';

// NaN and infinity are told as they are.
const lossOf = (text) => (Number.isFinite(Number.parseFloat(text)) ? Number(text).toFixed(4) : text);

function tilesOf(job, last) {
  const {progress = {}, predicted = {}, restarts = 0, layout, completionTime} = job.object.status ?? {};
  const remaining = completionTime || job.isGone ? undefined : progress.estimatedRemainingSeconds;
  return {
    State: stateOf(job),
    Progress: progress.steps ? `${progress.step ?? 0} of ${progress.steps} steps` : '',
    Remaining: remaining === undefined ? '' : duration(remaining),
    Loss: lossOf(progress.loss), MFU: percent(progress.mfuPercent) || percent(last?.mfu && (100 * last.mfu).toFixed(1)),
    Step: last?.seconds > 0 ? `${(1000 * last.seconds).toFixed(0)} ms` : '',
    'MFU predicted': percent(predicted.mfuPercent),
    'Step predicted': predicted.stepMilliseconds ? `${predicted.stepMilliseconds} ms` : '',
    'Tokens/s': progress.tokensPerSecond,
    Layout: layout, Restarts: String(restarts),
  };
}

export class Tiles {
  constructor() { this.element = h('dl', {class: 'tiles'}); this.values = new Map(); }

  // last: the last step that was heard of, if any was.
  draw(job, last) {
    for (const [name, text] of Object.entries(tilesOf(job, last))) {
      if (!this.values.has(name)) {
        const value = h('dd');
        this.values.set(name, value);
        this.element.append(h('div', {}, h('dt', {}, name), value));
      }
      setText(this.values.get(name), text || '–');
    }
  }
}
