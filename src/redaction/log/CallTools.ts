import { foreignCall } from "../values/callShape.ts";

/** The number of calls that a log remembers. The whole output of a forgotten call is redacted. */
const mostCalls = 50_000;

/** The tools of the calls of a log, because the record of an outcome names only its call. */
export class CallTools {
  readonly #tools = new Map<string, string | undefined>();

  /**
   * Remembers the call of a record, or of a part of a message. A call with two tools has none, because a value can look
   * like a call.
   */
  note(value: object): void {
    const { call, tool, toolCallId, toolName } = value as Readonly<Record<string, unknown>>;
    const [foreignId, foreignTool] = foreignCall(value);
    const [id, name] = [call ?? toolCallId ?? foreignId, tool ?? toolName ?? foreignTool];
    if (typeof id !== "string" || typeof name !== "string") return;
    const isOther = this.#tools.has(id) && this.#tools.get(id) !== name;
    this.#tools.delete(id);
    this.#tools.set(id, isOther ? undefined : name);
    for (const oldest of this.#tools.keys()) {
      if (this.#tools.size <= mostCalls) break;
      this.#tools.delete(oldest);
    }
  }

  of(call: unknown): string | undefined {
    return typeof call === "string" ? this.#tools.get(call) : undefined;
  }
}
