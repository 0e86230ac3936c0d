/** A redacted value of an append. Becomes a token before it is stored. */
export class HiddenValue {
  /** The value as JSON, copied because the caller may change the value. */
  readonly json: string;
  readonly shown: string;
  token: string | undefined;

  constructor(value: unknown, shown: string) {
    this.json = JSON.stringify(value);
    this.shown = shown;
  }

  /** Returns the value itself without a token, because a larger value that contains it is hidden, too. */
  toJSON(): unknown {
    return this.token ?? (JSON.parse(this.json) as unknown);
  }
}
