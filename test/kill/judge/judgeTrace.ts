import type { TraceLine } from "./TraceLine.ts";

type Of<Kind extends TraceLine["kind"]> = Extract<TraceLine, { readonly kind: Kind }>;

/**
 * What a trace shows that must not be: something that had ended for good and ran again. It takes nobody's word for what
 * had ended: that follows from what came after it, since the agent may go on only from what is durable.
 */
export function judgeTrace(lines: readonly TraceLine[]): readonly string[] {
  const judge = new TraceJudge();
  for (const line of lines) judge.take(line);
  return judge.violations;
}

class TraceJudge {
  readonly violations: string[] = [];
  /** Calls and model turns that have ended for good, with what shows it. */
  readonly #settled = new Map<string, string>();
  /** Every call ever started. */
  readonly #started = new Set<string>();
  #turns = new Set<string>();
  #node: Of<"node"> | undefined;
  #version = 0;
  // What the current process has seen.
  #asked = new Map<string, { readonly line: Of<"asked">; readonly endedBefore: readonly string[] }>();
  #ended = new Set<string>();

  take(line: TraceLine): void {
    if (line.kind === "process") {
      this.#asked = new Map();
      this.#ended = new Set();
    }
    if (line.kind === "node") this.#enter(line);
    if (line.kind === "checkpoint") this.#save(line);
    if (line.kind === "model") this.#ask(`turn ${line.turn}`);
    if (line.kind === "asked") this.#asked.set(line.call, { line, endedBefore: [...this.#ended] });
    if (line.kind === "started") this.#start(line.call);
    if (line.kind === "ended") this.#ended.add(line.call);
    if (line.kind === "recorded") this.#settle(line.calls, "its outcome is in the log");
    if (line.kind === "completed") this.#leaveNode("the run had completed");
  }

  /** A node begins only when the checkpoint of the one before is durable. */
  #enter(line: Of<"node">): void {
    const before = this.#node;
    const [from, to] = [before?.iteration ?? -1, line.iteration];
    if (to < from) this.violations.push(`node ${nameOf(line)} ran again, though ${nameOf(before)} had begun after it`);
    if (to > from + 1) this.violations.push(`node ${nameOf(line)} began, though only ${nameOf(before)} had begun`);
    if (to === from && line.node !== before?.node)
      this.violations.push(`node ${nameOf(line)} began in place of ${nameOf(before)}`);
    if (to > from) {
      this.#leaveNode(`node ${nameOf(line)} had begun`);
      this.#node = line;
    }
  }

  #save({ id, version, iteration, ended }: Of<"checkpoint">): void {
    if (iteration !== ended) this.violations.push(`checkpoint ${id} was the newest after ${ended} nodes had ended`);
    if (version < this.#version)
      this.violations.push(`checkpoint ${id} was saved with version ${version} after ${this.#version}`);
    this.#version = version;
  }

  #ask(turn: string): void {
    const reason = this.#settled.get(turn);
    if (reason !== undefined) this.violations.push(`the model was asked for ${turn} again, though ${reason}`);
    this.#turns.add(turn);
  }

  #start(call: string): void {
    const asked = this.#asked.get(call);
    const reason = this.#settled.get(call);
    if (asked === undefined) return void this.violations.push(`call ${call} started unasked`);
    const { tool, effect, by } = asked.line;
    if (reason !== undefined) this.violations.push(`call ${call} of ${tool} ran again, though ${reason}`);
    const again = this.#started.has(call);
    if (again && effect === "irreversible")
      this.violations.push(`call ${call} of ${tool}, which was in doubt, ran again`);
    this.#started.add(call);
    // The intent of a call follows, in the log, the outcomes of all calls that had ended when it was asked for.
    if (!again && effect !== "none") this.#settle(asked.endedBefore, `call ${call} of ${tool} had begun after its end`);
    if (by === "model") this.#settle(this.#turns, `call ${call} of ${tool}, asked for there or later, had begun`);
  }

  #leaveNode(reason: string): void {
    this.#settle(this.#started, reason);
    this.#settle(this.#turns, reason);
  }

  #settle(what: Iterable<string>, reason: string): void {
    for (const one of what) if (!this.#settled.has(one)) this.#settled.set(one, reason);
  }
}

function nameOf(line: Of<"node"> | undefined): string {
  return line === undefined ? "none" : `${line.iteration} (${line.node})`;
}
