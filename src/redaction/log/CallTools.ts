/** The number of calls that a log remembers. The whole output of a forgotten call is redacted. */
const mostCalls = 50_000;

/** The tools of the calls of a log, because the record of an outcome names only its call. */
export class CallTools {
  readonly #tools = new Map<string, string>();

  /** Remembers the call of a record, or of a part of a message. */
  note(value: object): void {
    const { call, tool, toolCallId, toolName } = value as Readonly<Record<string, unknown>>;
    const [id, name] = [call ?? toolCallId, tool ?? toolName];
    if (typeof id !== "string" || typeof name !== "string") return;
    this.#tools.delete(id);
    this.#tools.set(id, name);
    for (const oldest of this.#tools.keys()) {
      if (this.#tools.size <= mostCalls) break;
      this.#tools.delete(oldest);
    }
  }

  of(call: unknown): string | undefined {
    return typeof call === "string" ? this.#tools.get(call) : undefined;
  }
}
