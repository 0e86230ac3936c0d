import type { Session } from "@openai/agents-core";
import { storeOf } from "../session/SessionStore.ts";
import { type DurableRun, currentCall } from "./DurableRun.ts";
import { ForeignRunSession } from "./ForeignRunSession.ts";
import { StoredRunSession } from "./StoredRunSession.ts";

/** Wraps a session for a durable run. A replay reads the same items as before and adds no item twice. */
export function sessionInRun(session: Session, run: DurableRun): Session {
  const call = currentCall();
  const views = run.sessions.get(session) ?? new Map<string | undefined, Session>();
  run.sessions.set(session, views);
  const known = views.get(call);
  if (known) return known;
  const store = storeOf(session);
  const name = JSON.stringify([run.loop.agentId, run.loop.runId, call ?? null]);
  const own: object = store ? new StoredRunSession(store, run, name) : new ForeignRunSession(session, run, name);
  const view = new Proxy(session, {
    get: (target, key) => {
      // The SDK detects capabilities by their methods, so the wrapper must not add any.
      const source = key in target && key in own ? own : target;
      const value: unknown = Reflect.get(source, key);
      return typeof value === "function" ? value.bind(source) : value;
    },
  });
  views.set(call, view);
  return view;
}
