import type { RequestView } from "../../inspect.ts";
import type { Output } from "../terminal/Output.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { shown } from "./shown.ts";

export async function requestTable(output: Output, title: string, requests: readonly RequestView[]): Promise<void> {
  await output.line();
  await output.line(painted("bold", title));
  await output.table(
    ["REQUEST", "WAITS FOR", "ASKED", "WHAT"],
    requests.map((each) => [each.requestId, each.waitingFor, output.ago(each.askedAt), whatOf(each)]),
  );
}

function whatOf({ prompt, call }: RequestView): readonly Part[] {
  const asked = shown(prompt, 500);
  return call ? [asked, ` (${call.tool} `, shown(call.input, 300), ")"] : [asked];
}
