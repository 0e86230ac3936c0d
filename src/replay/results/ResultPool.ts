import type { AskedDigest } from "../../agent/model/RequestDigest.ts";
import type { LineRecording, RecordedInput, RecordedResponse, RecordedToolCall } from "../recording/Recording.ts";
import { sameValue } from "./sameValue.ts";

export type RecordedResults = Pick<LineRecording, "answers" | "calls" | "requests">;

/** The recorded results of a run, found by their content. Each result is returned once. */
export class ResultPool {
  readonly #responses: RecordedResponse[];
  readonly #calls: RecordedToolCall[];
  readonly #inputs: RecordedInput[];

  constructor({ answers, calls, requests }: RecordedResults) {
    const byOrder = <Item extends { readonly order: number }>(items: readonly Item[]) =>
      items.toSorted((a, b) => a.order - b.order);
    this.#responses = byOrder(answers);
    this.#calls = byOrder(calls.filter(({ outcome }) => outcome !== undefined));
    this.#inputs = byOrder(requests.filter(({ reply }) => reply !== undefined));
  }

  /** Returns the response to an equal request of the node, or else the next response of the node. */
  response(nodeId: string, asked: AskedDigest): RecordedResponse | undefined {
    const ofNode = this.#responses.filter((each) => each.nodeId === nodeId);
    const equal = ofNode.find((each) => each.asked !== undefined && asked.matches(each.asked));
    return take(this.#responses, equal ?? ofNode[0]);
  }

  /** Returns the next call of the tool with an equal input. */
  call(toolName: string, input: unknown): RecordedToolCall | undefined {
    const equal = this.#calls.find((each) => each.toolName === toolName && sameValue(each.input, input));
    return take(this.#calls, equal);
  }

  /** Returns the next answer to an equal question. */
  input(question: string, nodeId: string, isApproval: boolean): RecordedInput | undefined {
    const equal = this.#inputs.filter(
      (each) => each.question === question && (each.approval !== undefined) === isApproval,
    );
    return take(this.#inputs, equal.find((each) => each.nodeId === nodeId) ?? equal[0]);
  }
}

/** Returns the results of a line and of its nested lines. */
export function allResults(line: LineRecording): RecordedResults {
  const lines = [line];
  for (const { parts } of lines) for (const { nested } of parts) lines.push(...nested.map((each) => each.line));
  return {
    answers: lines.flatMap(({ answers }) => answers),
    calls: lines.flatMap(({ calls }) => calls),
    requests: lines.flatMap(({ requests }) => requests),
  };
}

function take<Item>(items: Item[], item: Item | undefined): Item | undefined {
  if (item !== undefined) items.splice(items.indexOf(item), 1);
  return item;
}
