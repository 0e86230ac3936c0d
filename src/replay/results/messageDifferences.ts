import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageDifference } from "./Divergence.ts";
import { sameValue } from "./sameValue.ts";

/** Returns the messages that differ between two histories, by index. */
export function messageDifferences(
  expected: readonly Message[],
  actual: readonly Message[],
): readonly MessageDifference[] {
  const differences: MessageDifference[] = [];
  for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
    const [before, now] = [expected[index], actual[index]];
    if (before && now && sameValue(before, now)) continue;
    differences.push({ index, ...(before && { expected: before }), ...(now && { actual: now }) });
  }
  return differences;
}
