// Which node, stage and copy of the model each rank belongs to.
import {h, section, setText} from './dom.js';

const kMostRanks = 1024;  // that are shown one by one

// Of the job's plan, which its status has as a text; undefined where nobody says.
export function devicesPerNode({spec, status}) {
  try {
    return JSON.parse(status.plan.document).plan.devicesPerNode ?? spec?.resources?.devicesPerNode;
  } catch {
    return spec?.resources?.devicesPerNode;
  }
}

// Of a plan's sizes: tensor parallel is the fastest axis, then data, pipeline the slowest. [{rank, node, stage, replica}];
// node: undefined where perNode is.
export function ranksOf({tensor = 1, pipeline = 1, data = 1}, perNode) {
  return Array.from({length: tensor * pipeline * data}, (_, rank) => ({
    rank, node: perNode && Math.floor(rank / perNode), replica: Math.floor(rank / tensor) % data, stage: Math.floor(rank / (tensor * data))}));
}

// A strip of the ranks by node; one that is chosen shows its log.
export class Ranks {
  constructor(onChoice) {
    this.onChoice = onChoice;
    this.strip = h('div', {class: 'ranks'});
    this.failed = h('p');
    this.element = section('Ranks', this.strip, this.failed);
  }

  draw({object}) {
    const {plan, failedMachines = []} = object.status ?? {};
    const perNode = devicesPerNode(object);
    const told = JSON.stringify([plan?.tensor, plan?.pipeline, plan?.data, perNode]);
    if (told !== this.told) this.strip.replaceChildren(...this.cells(plan, perNode));
    this.told = told;
    setText(this.failed, failedMachines.map((one) => `${one.name} failed ${one.failures ?? 1} times, last in attempt ${one.attempt ?? '?'}`).join('; '));
  }

  cells(plan, perNode) {
    if (!plan) return ['Not planned yet.'];
    const {tensor = 1, pipeline = 1, data = 1} = plan;
    if (tensor * pipeline * data > kMostRanks) return [`${tensor * pipeline * data} ranks.`];
    return ranksOf(plan, perNode).map(({rank, node, stage, replica}) => {
      const title = `Rank ${rank}: ${node === undefined ? '' : `node ${node}, `}stage ${stage}, copy ${replica} of the model`;
      return h('button', {type: 'button', title, 'aria-label': `${title}; shows its log`, class: node % 2 ? 'odd' : '',
        onclick: () => this.onChoice(rank)}, String(rank));
    });
  }
}
