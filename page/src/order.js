// Which jobs are shown, and in which order.
import {nameOf, stateOf} from './format.js';

const byText = (text) => (a, b) => { const [x, y] = [text(a), text(b)]; return x < y ? -1 : Number(x > y); };
const byName = byText(({job}) => job.name);
const kOrders = {
  name: byName,
  state: byText(({job}) => stateOf(job)),
  newest: (a, b) => byText(({job}) => job.createTime ?? '')(b, a),
};

// filter: a part of the name or of the state; order: newest, name or state, equals by name.
export function ordered(jobs, filter, order) {
  const part = filter.trim().toLowerCase();
  return jobs.filter((one) => nameOf(one.job.name).includes(part) || stateOf(one.job).toLowerCase().includes(part))
    .sort((a, b) => kOrders[order](a, b) || byName(a, b));
}
