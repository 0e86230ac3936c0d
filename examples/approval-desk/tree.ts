import { persistence, type CheckpointTreeNode } from "agent-persistence";
import { desk } from "./agent.ts";

/** `tree.ts <directory> <agent>`: prints all checkpoints of an agent; a star marks where it goes on. */
const [, , directory = ".agent-persistence", agentId = "order-7"] = process.argv;

function print({ nodeId, name, agentPath, move, by, isHead, children }: CheckpointTreeNode, indent = ""): void {
  const words = [...agentPath, nodeId, name && `"${name}"`, move && `(${move}${by === undefined ? "" : ` by ${by}`})`];
  console.log(indent + [...words, isHead ? "*" : ""].filter(Boolean).join(" "));
  for (const child of children) print(child, `${indent}  `);
}

for (const root of await persistence(desk(directory)).agent(agentId).checkpointTree()) print(root);
