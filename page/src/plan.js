// A job's plan, and why it was chosen.
import {h, section, setText} from './dom.js';
import {yamlOf} from './yaml.js';

export class Plan {
  constructor() {
    this.why = h('p');
    this.sizes = h('pre', {tabindex: 0, role: 'region', 'aria-label': 'Sizes of the plan'});
    this.element = section('Plan', this.why, this.sizes);
  }

  draw({object}) {
    const {document: _, reason, ...rest} = object.status?.plan ?? {};
    setText(this.why, object.status?.plan ? (reason ? `Why: ${reason}` : '') : 'Not planned yet.');
    setText(this.sizes, object.status?.plan ? yamlOf(rest) : '');
  }
}
