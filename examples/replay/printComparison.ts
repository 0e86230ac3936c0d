import type { ComparedCall, RunComparison } from "agent-persistence/replay";

/** Prints a comparison: the totals of both runs, and each call that differs. */
export function printComparison({ before, after, output, steps, firstDivergence, calls }: RunComparison): void {
  console.log(`   ${"".padEnd(15)} recorded  changed`);
  console.log(`   model requests  ${String(before.modelRequests).padEnd(8)}  ${after.modelRequests}`);
  console.log(`   tool calls      ${String(before.calls).padEnd(8)}  ${after.calls}`);
  console.log(
    `   of these: ${calls.same} the same, ${calls.changed} changed, ${calls.removed} removed, ${calls.added} added`,
  );
  const first = firstDivergence === undefined ? undefined : steps[firstDivergence];
  if (first) console.log(`   first difference: step ${(firstDivergence ?? 0) + 1}, node ${first.node}`);
  for (const call of steps.flatMap((step) => step.calls)) printCall(call);
  if (output) console.log(`   - ${String(output.before)}\n   + ${String(output.after)}`);
}

function printCall({ change, tool, before, after, input }: ComparedCall): void {
  if (change !== "changed") return console.log(`   ${change} ${tool}(${JSON.stringify((before ?? after)?.input)})`);
  const parts = input.map((part) => `${part.path.join(".")}: ${String(part.before)} → ${String(part.after)}`);
  console.log(`   changed ${tool}: ${parts.join(", ")}`);
}
