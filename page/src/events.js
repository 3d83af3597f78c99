// What happened to a job and its pods.
import {ConnectionLost, get, mayPass, pause, untilSeen} from './api.js';
import {failure, h, section} from './dom.js';

const kStand = 15000;  // milliseconds
const kRest = 20;  // times as long as an answer took: what is large for the service is asked for seldom
const kLongest = 300000;  // milliseconds
const kMostShown = 200;

export class Events {
  constructor(name, signal) {
    this.name = name;
    this.signal = signal;
    this.list = h('div');
    this.element = section('Events', this.list);
    this.areAll = false;  // nobody will tell of more
    this.took = 0;  // milliseconds, for the last answer
  }

  // Reads them while somebody can see them, until a while behind the job's end, or until asking again mends nothing. hasEnded(): now.
  async keep(hasEnded) {
    while (!this.areAll) {
      const isLast = hasEnded();  // what is told of the end may be written a little later
      await pause(Math.min(Math.max(kStand, kRest * this.took), kLongest), this.signal);
      await untilSeen(this.signal);
      if (this.signal.aborted) return;
      const error = await this.read();
      this.areAll ||= error ? !mayPass(error) : isLast && hasEnded();
    }
  }

  // What hindered it, if anything did.
  async read() {
    const asked = performance.now();
    try {
      const {events = []} = await get(`${this.name}/events?pageSize=1000`, this.signal);
      this.show(events);
    } catch (error) {
      if (!this.signal.aborted) this.showFailure(error);
      return error;
    } finally {
      this.took = performance.now() - asked;
    }
  }

  // While there is no connection, what was told stands.
  showFailure(error) {
    if (error instanceof ConnectionLost) return;
    this.told = undefined;
    this.list.replaceChildren(failure(error));
  }

  show(events) {
    const told = JSON.stringify(events);
    if (told === this.told) return;
    this.told = told;
    this.list.replaceChildren(events.length === 0 ? h('p', {}, 'None.')
      : h('ul', {class: 'events'}, ...events.slice(-kMostShown).reverse().map(item)));
  }
}

const item = ({time, type, reason, about, message}) => h('li', {class: type === 'Warning' ? 'warning' : ''},
  h('time', {datetime: time}, new Date(time).toLocaleString()), ` ${type} ${reason} (${about}): ${message}`);
