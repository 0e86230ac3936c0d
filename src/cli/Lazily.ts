import type { ExitReason } from "./failure/CommandFailure.ts";
import type { Session } from "./session/Session.ts";

/** The function of a command. Returns the exit reason if it is not success. */
export type Action = (session: Session, options: never, ...args: never[]) => Promise<ExitReason | void>;

/** Wraps a lazily loaded action for the parser. */
export type Lazily = (load: () => Promise<Action>) => (...given: readonly unknown[]) => Promise<void>;
