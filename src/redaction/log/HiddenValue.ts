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

  toJSON(): string | undefined {
    return this.token;
  }
}
