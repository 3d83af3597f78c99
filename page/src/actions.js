// What can be asked of a job, and what became of what was asked last.
import {post} from './api.js';
import {failure, h, setText} from './dom.js';
import {nameOf} from './format.js';

const kBetweenClicks = 1000;  // milliseconds

export class Actions {
  constructor(name) {
    this.name = name;
    this.answer = h('div', {'aria-live': 'polite'});
    this.suspend = h('button', {type: 'button', onclick: () => this.turn()});
    this.cancel = h('button', {type: 'button', class: 'danger', onclick: () => this.dialog.showModal()}, 'Cancel job');
    this.dialog = h('dialog', {'aria-label': 'Cancel the job'},
      h('p', {}, `Cancel ${nameOf(name)} for good? It writes a checkpoint if it has a place for one, and cannot be resumed.`),
      h('button', {type: 'button', onclick: () => this.dialog.close(), autofocus: true}, 'Keep it'),
      h('button', {type: 'button', class: 'danger', onclick: () => { this.dialog.close(); this.ask('cancel', 'cancel asked for'); }}, 'Cancel job'));
    this.element = h('div', {class: 'bar'}, this.suspend, this.cancel, this.answer, this.dialog);
  }

  draw({object, isGone}) {
    const hasEnded = isGone || (object.status?.conditions ?? []).some((one) => ['Complete', 'Failed'].includes(one.type) && one.status === 'True');
    this.verb = object.spec?.suspend ? 'resume' : 'suspend';
    setText(this.suspend, this.verb === 'resume' ? 'Resume' : 'Suspend');
    this.suspend.disabled = this.cancel.disabled = hasEnded;
  }

  // What the watch tells changes the button's meaning, which a second click in a row does not ask for.
  turn() {
    if (this.hasJustTurned) return;
    this.hasJustTurned = true;
    setTimeout(() => { this.hasJustTurned = false; }, kBetweenClicks);
    this.ask(this.verb, `${this.verb} asked for`);
  }

  async ask(verb, done) {
    try {
      await post(`${this.name}:${verb}`);
      this.answer.replaceChildren(done);
    } catch (error) {
      this.answer.replaceChildren(failure(error));
    }
  }
}
