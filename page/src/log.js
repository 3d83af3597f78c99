// The end of what a job prints, followed.
import {follow} from './api.js';
import {h, section, setText} from './dom.js';

const kMostCharacters = 200000;

export class LogTail {
  constructor(name, signal) {
    this.name = name;
    this.signal = signal;
    this.fresh = '';  // not drawn yet
    this.rank = h('input', {type: 'number', min: 0, max: 1000000, 'aria-label': 'Rank; empty: all of node 0', placeholder: 'rank', onchange: () => this.start()});
    this.text = h('pre', {class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Log'});
    this.state = h('p', {class: 'quiet', role: 'status'});
    this.element = section('Log', h('div', {class: 'bar'}, this.rank), this.text, this.state);
    signal.addEventListener('abort', () => this.reading?.abort(), {once: true});
  }

  // What that rank prints.
  show(rank) {
    this.rank.value = rank;
    this.start();
    this.element.scrollIntoView({block: 'nearest'});
  }

  start() {
    this.reading?.abort();
    this.reading = new AbortController();
    this.fresh = '';
    setText(this.text, '');
    setText(this.state, '');
    const rank = this.rank.value === '' ? '' : `&rank=${Number(this.rank.value)}`;
    const {signal} = this.reading;
    follow(`${this.name}/logs?follow=true&tailLines=500${rank}`, {signal, onState: (text) => setText(this.state, text),
      onMessage: ({data}) => this.append(data ?? ''), onAnew: () => { this.fresh = ''; setText(this.text, '(what came before is gone)\n'); }})
      .catch((error) => { if (!signal.aborted) setText(this.state, `No log: ${error.message}`); });
  }

  append(data) {
    if (data === '') return;
    if (this.fresh === '') requestAnimationFrame(() => this.draw());
    this.fresh = (this.fresh + data).slice(-kMostCharacters);
  }

  draw() {
    const isAtEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 4;
    this.text.textContent = (this.text.textContent + this.fresh).slice(-kMostCharacters);
    this.fresh = '';
    if (isAtEnd) this.text.scrollTop = this.text.scrollHeight;
  }
}
