import { reasonOf } from "../../internal/reasonOf.ts";
import { warn } from "../../internal/warn.ts";
import type { PersistenceEvent, PersistenceListener } from "./PersistenceEvent.ts";

/** Gets what a listener threw or rejected with, and the event that it was told. */
export type ListenerErrorHandler = (error: unknown, event: PersistenceEvent) => void | PromiseLike<void>;

/** Tells a listener, at once and without waiting for it. What it throws is handed on and goes no further. */
export function notifyListener(
  listener: PersistenceListener,
  event: PersistenceEvent,
  onError: ListenerErrorHandler = warnOf,
): void {
  tell(listener, event, onError).catch(() => {
    // The handler of errors has failed as well: there is nobody left to tell.
  });
}

async function tell(
  listener: PersistenceListener,
  event: PersistenceEvent,
  onError: ListenerErrorHandler,
): Promise<void> {
  try {
    await listener(event);
  } catch (error) {
    await onError(error, event);
  }
}

function warnOf(error: unknown, { kind, agentId }: PersistenceEvent): void {
  warn("listener_failed", `The listener failed on ${kind} of agent ${JSON.stringify(agentId)}: ${reasonOf(error)}`);
}
