import { renamed, renamedPath } from "../values/renamed.ts";
import type { Renames } from "../records/lineRecords.ts";
import type { AgentState, RecordedAnswer, RecordedCall, RecordedRequest } from "./AgentState.ts";

type Recorded = Pick<AgentState, "answers" | "calls" | "requests">;

export function renamedState({ answers, calls, requests }: Recorded, renames: readonly Renames[]) {
  const names = { nodes: renames.map(({ nodes }) => nodes), tools: renames.map(({ tools }) => tools) };
  return {
    answers: mapped(answers, (answer) => renamedAnswer(answer, names)),
    calls: mapped(calls, (call) => renamedCall(call, names)),
    requests: mapped(requests, (request) => renamedRequest(request, names)),
  };
}

type Names = { readonly [Kind in keyof Renames]: readonly Renames[Kind][] };

function mapped<Item>(items: ReadonlyMap<string, Item>, change: (item: Item) => Item): Map<string, Item> {
  return new Map([...items].map(([key, item]) => [key, change(item)]));
}

function renamedAnswer(answer: RecordedAnswer, { nodes, tools }: Names): RecordedAnswer {
  return { ...answer, node: renamedPath(answer.node, nodes), renames: [...(answer.renames ?? []), ...tools] };
}

function renamedCall(call: RecordedCall, { nodes, tools }: Names): RecordedCall {
  const { intent, outcome } = call;
  // An outcome contains these fields only without an intent.
  const { node, tool } = outcome ?? {};
  return {
    ...call,
    ...(intent && { intent: { ...intent, node: renamedPath(intent.node, nodes), tool: renamed(intent.tool, tools) } }),
    ...(outcome && {
      outcome: {
        ...outcome,
        ...(node !== undefined && { node: renamedPath(node, nodes) }),
        ...(tool !== undefined && { tool: renamed(tool, tools) }),
      },
    }),
  };
}

function renamedRequest(request: RecordedRequest, { nodes, tools }: Names): RecordedRequest {
  const { record } = request;
  const { approval } = record;
  const tool = approval && renamed(approval.tool, tools);
  return {
    ...request,
    record: {
      ...record,
      node: renamedPath(record.node, nodes),
      ...(approval && tool !== undefined && { approval: { ...approval, tool } }),
    },
    ...(approval && tool !== approval.tool && { renamed: true as const }),
  };
}
