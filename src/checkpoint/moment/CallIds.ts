import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { ContentPart, Message } from "../messages/Message.ts";
import type { Visit } from "../records/Visit.ts";
import type { RequestRecord } from "../records/requestRecords.ts";
import { type AgentState, nextVisitOf } from "../state/AgentState.ts";
import type { ValueReader } from "../state/ValueReader.ts";
import { requestIdAt, type RunLine, toolCallIdAt } from "../toolCallId.ts";

/** More calls by code than a visit has until it waits. */
const mostOrdinals = 1_000;

/** Where the ids of a line come from. */
export interface IdSource {
  readonly sha256: Sha256;
  /** The line as it begins anew. */
  readonly line: RunLine;
  /** The lines on which the ids that are recorded may have been made. */
  readonly before: readonly RunLine[];
  /** The line's state at the moment. */
  readonly state: AgentState;
  readonly reader: ValueReader;
  /** Whether a call of the line is made anew. */
  readonly isMadeAnew: (call: string) => boolean;
}

/**
 * The ids that calls and requests get when the node of a line runs again on another lane. They follow from where they are made:
 * the node gives them again, so that it finds what is recorded within them.
 */
export class CallIds {
  readonly #from: IdSource;
  readonly #ids = new Map<string, string>();

  constructor(from: IdSource) {
    this.#from = from;
  }

  /** The id of a call on the new lane. @param visit in which something refers to it. */
  of(call: string, visit: Visit): string {
    const known = this.#ids.get(call);
    if (known !== undefined) return known;
    // What is made within itself is forged.
    this.#ids.set(call, call);
    const id = this.#from.isMadeAnew(call) ? this.#newId(call, visit) : call;
    this.#ids.set(call, id);
    return id;
  }

  /** The id of a request on the new lane. */
  ofRequest({ request, visit, question, id, ordinal, within }: RequestRecord): string {
    const { line, sha256 } = this.#from;
    if (question === undefined) return requestIdAt(line, `of ${request}`, sha256);
    const place = id === undefined ? { question, ordinal } : { question, id };
    const call = id === undefined ? [within === undefined ? "" : this.of(within, visit)] : [];
    return requestIdAt(line, JSON.stringify([...visit, place, ...call]), sha256);
  }

  #newId(call: string, visit: Visit): string {
    const { line, sha256, state } = this.#from;
    const { intent, outcome } = state.calls.get(call) ?? {};
    const facts = intent ?? outcome;
    const within = facts?.within;
    const at = facts?.visit ?? visit;
    const place = facts?.ordinal === undefined ? undefined : [...at, "c", facts.ordinal, 0];
    const found = place ?? this.#inAnswer(call) ?? this.#byCode(call, at, within) ?? this.#inMessage(call, at);
    const around = within === undefined ? [] : [this.of(within, at)];
    return toolCallIdAt(line, JSON.stringify([...found, ...around]), sha256);
  }

  /** The place of a call for which an answer asks that the visit gets again. */
  #inAnswer(call: string): readonly unknown[] | undefined {
    const [base] = nextVisitOf(this.#from.state);
    for (const { visit, ordinal, message } of this.#from.state.answers.values()) {
      const index = visit[0] === base ? indexIn(this.#from.reader.read(message), call) : -1;
      if (index >= 0) return [...visit, "m", ordinal, index];
    }
    return undefined;
  }

  /** The place of a call by code without a record: such as one that waits for an approval. */
  #byCode(call: string, visit: Visit, within: string | undefined): readonly unknown[] | undefined {
    const { before, sha256 } = this.#from;
    for (let ordinal = 0; ordinal < mostOrdinals; ordinal++) {
      const place = [...visit, "c", ordinal, 0];
      const text = JSON.stringify([...place, ...(within === undefined ? [] : [within])]);
      if (before.some((line) => toolCallIdAt(line, text, sha256) === call)) return place;
    }
    return undefined;
  }

  /** The place of a call for which a message asks that a node executes: the calls of its first one. */
  #inMessage(call: string, visit: Visit): readonly unknown[] {
    const { state, reader } = this.#from;
    const slots = [...state.history.map(({ message }) => message), state.checkpoint?.record.input];
    for (const slot of slots.toReversed()) {
      const index = indexIn(reader.read(slot), call);
      if (index >= 0) return [...visit, "x", 0, index];
    }
    return [...visit, "x", 0, 0];
  }
}

/** The place of a call in the content of a message; -1: the message does not ask for it. */
function indexIn(value: unknown, call: string): number {
  const { content } = Object(value) as Partial<Message>;
  if (!Array.isArray(content)) return -1;
  return (content as readonly ContentPart[]).findIndex((part) => part.type === "tool-call" && part.toolCallId === call);
}
