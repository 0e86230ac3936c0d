import type { ExitReason } from "./failure/CommandFailure.ts";
import type { Session } from "./session/Session.ts";

/** What a command does. It returns why the command line ends where that is not because all is well. */
export type Action = (session: Session, options: never, ...args: never[]) => Promise<ExitReason | void>;

/** Makes of what loads an action the function that the parser calls. */
export type Lazily = (load: () => Promise<Action>) => (...given: readonly unknown[]) => Promise<void>;
