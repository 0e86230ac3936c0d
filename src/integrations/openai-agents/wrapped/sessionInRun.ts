import type { Session } from "@openai/agents-core";
import { storeOf } from "../session/sessionStores.ts";
import { currentCall } from "./currentRun.ts";
import type { DurableRun } from "./DurableRun.ts";
import { ForeignRunSession } from "./ForeignRunSession.ts";
import { StoredRunSession } from "./StoredRunSession.ts";

/**
 * A session as a durable run sees it: what the run has read it reads again, and what it has added is not added twice. All
 * else is the session itself.
 */
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
      // A capability that the session lacks, the view must not have.
      const source = key in target && key in own ? own : target;
      const value: unknown = Reflect.get(source, key);
      return typeof value === "function" ? value.bind(source) : value;
    },
  });
  views.set(call, view);
  return view;
}
