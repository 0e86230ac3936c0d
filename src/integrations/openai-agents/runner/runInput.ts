import type { Session } from "@openai/agents-core";
import { InvalidInputError } from "../../../errors/agentErrors.ts";
import { quoted } from "../../../errors/AgentPersistenceError.ts";
import { storeOf } from "../session/SessionStore.ts";
import type { RunInput } from "./runLoop.ts";

interface InputWithSession {
  readonly input: RunInput;
  /** The id of a PersistenceSession. `null` for any other session, because its id may differ between processes. */
  readonly session: string | null;
}

export type StoredInput = RunInput | InputWithSession;

export async function storedInput(input: RunInput, session: Session | undefined): Promise<StoredInput> {
  return session ? { input, session: await nameOf(session) } : input;
}

export function givenInput(stored: StoredInput): RunInput {
  return isWithSession(stored) ? stored.input : stored;
}

/** @throws InvalidInputError if the session differs from the session of the run's start */
export async function assertSameSession(stored: StoredInput, session: Session | undefined): Promise<void> {
  const begun = isWithSession(stored) ? stored.session : undefined;
  const given = session && (await nameOf(session));
  if (begun === given) return;
  const expected = `expected ${wordsFor(begun)}, as at the start of the run, found ${wordsFor(given)}`;
  throw new InvalidInputError("options of a resume", [{ path: "session", expected }]);
}

function isWithSession(stored: StoredInput): stored is InputWithSession {
  return typeof stored === "object" && "session" in stored;
}

async function nameOf(session: Session): Promise<string | null> {
  return storeOf(session) ? session.getSessionId() : null;
}

function wordsFor(session: string | null | undefined): string {
  if (session === undefined) return "no session";
  return session === null ? "a session other than a PersistenceSession" : `the PersistenceSession ${quoted(session)}`;
}
