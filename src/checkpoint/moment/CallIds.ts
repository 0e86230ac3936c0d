import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { ContentPart, Message } from "../messages/Message.ts";
import { isSameVisit, type Visit } from "../records/Visit.ts";
import type { RequestRecord } from "../records/requestRecords.ts";
import { isOver } from "../records/callRecords.ts";
import { type AgentState, nextVisitOf, refusedCalls } from "../state/AgentState.ts";
import type { ValueReader } from "../state/ValueReader.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import { requestIdAt, type RunLine, toolCallIdAt } from "../ids/toolCallId.ts";

/** Where a node made a call: the node execution, the kind of the call, its numbers, and the tool call around it. */
type CallPosition = readonly [
  visit: Visit,
  kind: "m" | "c" | "x",
  ordinal: number,
  index: number,
  within: string | undefined,
];

/** The maximum number of attempts to find the position of a call that code made and that has no record. */
const mostOrdinals = 1_000;

export interface IdSource {
  readonly sha256: Sha256;
  readonly line: RunLine;
  readonly before: readonly RunLine[];
  readonly state: AgentState;
  readonly reader: ValueReader;
  /** Returns the node execution on the new lane that repeats an execution of the earlier lane. */
  readonly visitOf: (visit: Visit) => Visit;
  readonly isMadeAnew: (call: string) => boolean;
}

/** Computes the ids of calls and requests of a node that runs again on a new lane, from where each call is made. */
export class CallIds {
  readonly #from: IdSource;
  readonly #ids = new Map<string, string>();
  #refused: ReadonlySet<string> | undefined;

  constructor(from: IdSource) {
    this.#from = from;
  }

  of(call: string, visit: Visit): string {
    const known = this.#ids.get(call);
    if (known !== undefined) return known;
    // A forged log can contain a call that is within itself. This entry ends the recursion.
    this.#ids.set(call, call);
    const id = this.#isMadeAnew(call) ? this.#newId(call, visit) : call;
    this.#ids.set(call, id);
    return id;
  }

  ofRequest({ request, visit, question, id, ordinal, within }: RequestRecord): string {
    const { line, sha256, visitOf } = this.#from;
    if (question === undefined) return requestIdAt(line, `of ${request}`, sha256);
    const place = id === undefined ? { question, ordinal } : { question, id };
    const call = id === undefined ? [within === undefined ? "" : this.of(within, visit)] : [];
    return requestIdAt(line, JSON.stringify([...visitOf(visit), place, ...call]), sha256);
  }

  inputOf(call: string): unknown {
    return this.#partOf(call)?.input;
  }

  /** Returns whether a call gets a new id. Rejected model calls keep their ids, because messages contain the ids. */
  #isMadeAnew(call: string): boolean {
    const { isMadeAnew, state } = this.#from;
    this.#refused ??= refusedCalls(state);
    return isMadeAnew(call) && !(this.#refused.has(call) && this.#partOf(call));
  }

  #partOf(call: string): Extract<ContentPart, { readonly type: "tool-call" }> | undefined {
    const { state, reader } = this.#from;
    const slots = [...[...state.answers.values()].map(({ message }) => message), ...this.#messages];
    for (const slot of slots.toReversed()) {
      const message = reader.read(slot);
      const part = partsOf(message)[indexIn(message, call)];
      if (part?.type === "tool-call") return part;
    }
    return undefined;
  }

  get #messages(): readonly StoredValue[] {
    const { history, checkpoint } = this.#from.state;
    return [...history.map(({ message }) => message), checkpoint?.record.input];
  }

  #newId(call: string, visit: Visit): string {
    const { line, sha256, visitOf } = this.#from;
    const [made, kind, ordinal, index, within] = this.#placeOf(call, visit);
    const around = within === undefined ? [] : [this.of(within, made)];
    return toolCallIdAt(line, JSON.stringify([...visitOf(made), kind, ordinal, index, ...around]), sha256);
  }

  #placeOf(call: string, visit: Visit): CallPosition {
    const { intent, outcome } = this.#from.state.calls.get(call) ?? {};
    const { visit: at = visit, ordinal, within } = intent ?? outcome ?? {};
    if (ordinal !== undefined) return [at, "c", ordinal, 0, within];
    const found = this.#inAnswer(call) ?? this.#inMessage(call, at, within) ?? this.#byCode(call, at);
    return found ?? [at, "x", 0, 0, within];
  }

  #inAnswer(call: string): CallPosition | undefined {
    const [base] = nextVisitOf(this.#from.state);
    for (const { visit, ordinal, message, within } of this.#from.state.answers.values()) {
      if (visit[0] !== base) continue;
      const index = partsOf(this.#from.reader.read(message)).findIndex(
        (part, at) =>
          part.type === "tool-call" &&
          (part.toolCallId === call || this.#wasMadeAt(call, [visit, "m", ordinal, at, within])),
      );
      if (index >= 0) return [visit, "m", ordinal, index, within];
    }
    return undefined;
  }

  #inMessage(call: string, visit: Visit, within: string | undefined): CallPosition | undefined {
    for (const slot of this.#messages.toReversed()) {
      const index = indexIn(this.#from.reader.read(slot), call);
      if (index >= 0) return [visit, "x", 0, index, within];
    }
    return undefined;
  }

  #byCode(call: string, visit: Visit): CallPosition | undefined {
    const around = [undefined, ...this.#callsIn(visit)];
    for (let ordinal = 0; ordinal < mostOrdinals; ordinal++)
      for (const within of around)
        if (this.#wasMadeAt(call, [visit, "c", ordinal, 0, within])) return [visit, "c", ordinal, 0, within];
    return undefined;
  }

  /** Returns the calls of a node execution that can contain a waiting call. */
  #callsIn(of: Visit): ReadonlySet<string> {
    const { calls, answers, requests } = this.#from.state;
    const isIn = ({ visit }: { readonly visit: Visit }) => isSameVisit(visit, of);
    const made = [...calls.values()].filter(isIn);
    const asked = [...requests.values()].map(({ record }) => record).filter(isIn);
    const around = [...made.map(({ intent, outcome }) => intent ?? outcome), ...[...answers.values()].filter(isIn)];
    return new Set([
      ...made.flatMap(({ call, outcome }) => (isOver(outcome) ? [] : call)),
      ...around.flatMap((each) => each?.within ?? []),
      ...asked.flatMap((each) => each.around ?? []),
    ]);
  }

  #wasMadeAt(call: string, [visit, kind, ordinal, index, within]: CallPosition): boolean {
    const { before, sha256 } = this.#from;
    const place = [...visit, kind, ordinal, index, ...(within === undefined ? [] : [within])];
    const text = JSON.stringify(place);
    return before.some((line) => toolCallIdAt(line, text, sha256) === call);
  }
}

function indexIn(value: unknown, call: string): number {
  return partsOf(value).findIndex((part) => part.type === "tool-call" && part.toolCallId === call);
}

function partsOf(value: unknown): readonly ContentPart[] {
  const { content } = Object(value) as Partial<Message>;
  return Array.isArray(content) ? (content as readonly ContentPart[]) : [];
}
