import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { callOf } from "../../agent/feature/ContextBinding.ts";
import { nextVisitOf, type AgentState } from "../../checkpoint/state/AgentState.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";

/** How a request ended: with an answer, or because its time passed. */
export type Reply =
  | {
      readonly answer: unknown;
      /** True when no checkpoint has followed the answer yet. */
      readonly isNew: boolean;
    }
  | { readonly expiredAt: string };

/**
 * What the requests of the node that runs next were answered with. They are found by where they were made, not by their
 * ids, which are others on another line.
 */
export class RecordedAnswers {
  readonly #byPlace = new Map<string, Reply>();

  /** @param keepExpired false when the run has failed for want of an answer: it asks once more. */
  constructor(state: AgentState, reader: ValueReader, keepExpired: boolean) {
    const from = nextVisitOf(state);
    const savedAt = state.checkpoint?.order ?? -1;
    for (const { record, reply, repliedAt = 0 } of state.requests.values()) {
      const { visit, id, ordinal, within, expiresAt = 0 } = record;
      if (!reply || visit[0] !== from[0] || visit[1] < from[1] || (reply.expired && !keepExpired)) continue;
      this.#byPlace.set(
        placeOf(visit, { id, ordinal, within }),
        reply.expired
          ? { expiredAt: new Date(expiresAt).toISOString() }
          : { answer: reader.read(reply.answer), isNew: repliedAt > savedAt },
      );
    }
  }

  /** `undefined`: there is no answer yet. */
  of(event: InputRequestEvent): Reply | undefined {
    return this.#byPlace.get(placeOf([event.visit.base, event.visit.ordinal], requestPlace(event)));
  }
}

type Place = { readonly [Key in "id" | "ordinal" | "within"]: RequestRecord[Key] | undefined };

/** Where in its visit a request is made, as its record says it. */
export function requestPlace({ request: { id }, ordinal, context }: InputRequestEvent): Place {
  const within = callOf(context)?.toolCallId;
  return id === undefined ? { id, ordinal, within } : { id, ordinal: undefined, within: undefined };
}

function placeOf(visit: Visit, { id, ordinal, within }: Place): string {
  return JSON.stringify([...visit, id ?? ordinal, within ?? ""]);
}
