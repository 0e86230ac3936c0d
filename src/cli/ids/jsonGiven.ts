import { CommandFailure } from "../terminal/CommandFailure.ts";

/** Parses a JSON argument. `what` is its name in messages. @throws CommandFailure */
export function jsonGiven(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = "Text is JSON in quotes, such as '\"yes\"'";
    throw new CommandFailure("usage", `${what} is not JSON: ${(error as Error).message}. ${hint}.`, { cause: error });
  }
}
