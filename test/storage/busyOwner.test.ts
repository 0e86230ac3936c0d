import { AgentBusyError } from "agent-persistence";
import { expect, it } from "vitest";

const owner = { host: "here", processId: 7, nonce: "n", generation: 3 };

it("AgentBusyError states after how many whole seconds another process can take over at the latest", () => {
  const { message } = new AgentBusyError("a", owner, 11_177.281246997416);
  expect(message).toBe(
    'Agent "a" is owned by process 7 on here (generation 3). ' +
      "If that process crashed, another process can take over the agent in at most 12 s. Otherwise wait until its run finishes.",
  );
  expect(new AgentBusyError("a", owner, 0).message).toContain("in at most 1 s");
});
