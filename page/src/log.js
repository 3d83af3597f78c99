// The end of what a job prints, followed.
import {follow} from './api.js';
import {h, section, setText} from './dom.js';

const kMostCharacters = 200000;

export class LogTail {
  constructor(name, signal) {
    this.name = name;
    this.signal = signal;
    this.rank = h('input', {type: 'number', min: 0, max: 1000000, 'aria-label': 'Rank; empty: all of node 0', placeholder: 'rank', onchange: () => this.start()});
    this.text = h('pre', {class: 'log', tabindex: 0, 'aria-label': 'Log'});
    this.state = h('p', {class: 'quiet', role: 'status'});
    this.element = section('Log', h('div', {class: 'bar'}, this.rank), this.text, this.state);
    signal.addEventListener('abort', () => this.reading?.abort(), {once: true});
  }

  start() {
    this.reading?.abort();
    this.reading = new AbortController();
    setText(this.text, '');
    setText(this.state, '');
    const rank = this.rank.value === '' ? '' : `&rank=${Number(this.rank.value)}`;
    const {signal} = this.reading;
    follow(`${this.name}/logs?follow=true&tailLines=500${rank}`, {signal, onState: (text) => setText(this.state, text),
      onMessage: ({data}) => this.append(data ?? ''), onAnew: () => this.append('\n(some lines are gone)\n')})
      .catch((error) => { if (!signal.aborted) setText(this.state, `No log: ${error.message}`); });
  }

  append(data) {
    if (data === '') return;
    const isAtEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 4;
    this.text.textContent = (this.text.textContent + data).slice(-kMostCharacters);
    if (isAtEnd) this.text.scrollTop = this.text.scrollHeight;
  }
}
