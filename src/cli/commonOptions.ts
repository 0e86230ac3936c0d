import { type Command, InvalidArgumentError } from "commander";
import type { ExitReason } from "./terminal/CommandFailure.ts";
import type { Session } from "./session/Session.ts";

/** The function of a command. Returns the exit reason if it is not success. */
type Action = (session: Session, options: never, ...args: never[]) => Promise<ExitReason | void>;

/** Wraps a lazily loaded action for the parser. */
export type Lazily = (load: () => Promise<Action>) => (...given: readonly unknown[]) => Promise<void>;

export function common(command: Command): Command {
  return command
    .option("-s, --storage <address>", "where the agents are")
    .option("--json", "answer in JSON, for programs")
    .option("--no-color", "answer without color");
}

/** Adds the options of every command that changes data. */
export function writing(command: Command): Command {
  return common(command).option("-y, --yes", "do not ask before the change");
}

export function withAgent(command: Command, what: string): Command {
  return command.option("-a, --agent <module#export>", what);
}

/** Parses a non-negative integer option. */
export function count(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 0.");
}
