import { type Command, InvalidArgumentError } from "commander";

/** Adds what every command takes. */
export function common(command: Command): Command {
  return command
    .option("-s, --storage <address>", "where the agents are")
    .option("--json", "answer in JSON, for programs")
    .option("--no-color", "answer without color");
}

/** Adds what every command takes that changes something. */
export function writing(command: Command): Command {
  return common(command).option("-y, --yes", "do not ask before the change");
}

/** Adds `--agent` to a command. */
export function withAgent(command: Command, what: string): Command {
  return command.option("-a, --agent <module#export>", what);
}

/** A whole number from 0, as an option gives it. */
export function count(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 0.");
}
