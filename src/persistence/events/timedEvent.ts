import type { Clock } from "../../internal/Clock.ts";
import type { PersistenceEvent, UntimedEvent } from "./PersistenceEvent.ts";

/** An event with the time at which it is told. */
export function timedEvent(event: UntimedEvent, clock: Clock): PersistenceEvent {
  // The compiler does not add the two up for each kind.
  return { ...event, at: new Date(clock.now()).toISOString() } as PersistenceEvent;
}
