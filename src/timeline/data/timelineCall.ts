import type { CallView } from "../../inspect/view/CallView.ts";
import type { NotedFileChange } from "../../inspect/view/viewParts.ts";
import { standingUndo } from "../../inspect/show/callView.ts";
import type { RequestView } from "../../inspect/view/RequestView.ts";
import type { ShownTexts } from "./ShownTexts.ts";
import type { TimelineCallState, TimelineCall, TimelineWait } from "./TimelineData.ts";

export function timelineCall(call: CallView, files: readonly NotedFileChange[], texts: ShownTexts): TimelineCall {
  const { toolCallId, tool, effect, input, output, error } = call;
  const result = error === undefined ? output && texts.of(output, [tool, "output"]) : texts.text(error);
  const note = noteOf(call, texts);
  return {
    id: toolCallId,
    tool,
    state: stateOf(call),
    effect,
    input: texts.of(input, [tool, "input"]),
    ...(result === undefined ? {} : { output: result }),
    ...(note === "" ? {} : { note }),
    ...(stands(call, files) ? { stands: true } : {}),
  };
}

/** Returns whether the effect of a call remains. A workspace undoes file changes, which the notes of the files show. */
function stands({ toolCallId, undo }: CallView, files: readonly NotedFileChange[]): boolean {
  if (undo !== "with_files") return standingUndo.has(undo);
  return files.some((file) => file.toolCallId === toolCallId && !file.isReverted);
}

function stateOf({ state, undo }: CallView): TimelineCallState {
  if (undo === "reverted") return "reverted";
  switch (state) {
    case "interrupted":
    case "to_repeat":
      return "cut";
    case "unknown":
      return "in_doubt";
    case "succeeded":
    case "lost":
      return undo === "irreversible" || undo === "left" ? "irreversible" : "succeeded";
    case "moved":
      return "succeeded";
    default:
      return state;
  }
}

const notes: Readonly<Partial<Record<CallView["state"] | CallView["undo"], string>>> = {
  interrupted: "began and did not end",
  to_repeat: "is made again",
  unknown: "settled as not known",
  lost: "its output could not be stored",
  moved: "moved the run",
  reverting: "its inverse has begun",
  left: "its effect was left",
  with_files: "is reverted with its files",
};

function noteOf({ state, undo, undoError, settledBy, within }: CallView, texts: ShownTexts): string {
  const failure = undo === "failed" ? "its inverse failed" : notes[undo];
  const settled = settledBy === undefined ? undefined : `settled by ${settledBy}`;
  const inside = within === undefined ? undefined : `within ${within}`;
  const why = undoError === undefined ? undefined : texts.text(undoError);
  return [notes[state], failure, why, settled, inside].filter((part) => part !== undefined).join(", ");
}

export function timelineWait(request: RequestView, texts: ShownTexts): TimelineWait {
  const { requestId, state, prompt, call, answer, rejection, by } = request;
  const reply = rejection === undefined ? answer && texts.of(answer, ["answer"]) : texts.text(rejection);
  const input = call === undefined ? "" : `\n${texts.of(call.input, [call.tool, "input"])}`;
  const asked = timeOf(request.askedAt);
  const answered = timeOf(request.answeredAt);
  return {
    id: requestId,
    asked: texts.of(prompt, ["prompt"]) + input,
    what: whatOf(request),
    state,
    ...(asked === undefined ? {} : { askedAt: asked }),
    ...(answered === undefined ? {} : { answeredAt: answered }),
    ...(reply === undefined ? {} : { answer: reply }),
    ...(by === undefined ? {} : { by: texts.text(by) }),
  };
}

function whatOf({ kind, call }: RequestView): string {
  if (kind === "timer") return "Timer:";
  if (kind === "event") return "Event:";
  return kind === "approval" ? `Approve ${call?.tool ?? "a call"}?` : "Asks:";
}

/** Returns a time in milliseconds since 1970, or `undefined` for invalid text. */
export function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}
