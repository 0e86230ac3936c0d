import type { CallView } from "../../inspect.ts";
import type { Output } from "../terminal/Output.ts";
import { type Paint, type Part, painted } from "../terminal/painted.ts";
import { shown } from "./shown.ts";

const paints: Readonly<Record<CallView["state"], Paint>> = {
  running: "cyan",
  in_doubt: "magenta",
  interrupted: "yellow",
  waiting: "yellow",
  succeeded: "green",
  failed: "red",
  lost: "red",
  moved: "blue",
  unknown: "magenta",
  to_repeat: "yellow",
};

export async function callTable(output: Output, title: string, calls: readonly CallView[]): Promise<void> {
  await output.line();
  await output.line(painted("bold", title));
  await output.table(
    ["CALL", "TOOL", "STATE", "UNDO", "INPUT", "OUTPUT"],
    calls.map((call) => [
      call.toolCallId,
      call.tool,
      stateOf(call),
      call.undo,
      shown(call.input, 200),
      outcomeOf(call),
    ]),
  );
}

function stateOf({ state, undo }: CallView): Part {
  return undo === "reverted" ? painted("strikethrough", state) : painted(paints[state], state);
}

function outcomeOf({ output, error }: CallView): Part {
  if (error !== undefined) return painted("red", error);
  return output === undefined ? "" : shown(output, 200);
}
