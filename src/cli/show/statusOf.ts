import { type Paint, painted, type Painted } from "../terminal/painted.ts";

const paints: Readonly<Record<string, Paint>> = {
  in_progress: "cyan",
  waiting: "yellow",
  paused: "yellow",
  queued: "blue",
  completed: "green",
  failed: "red",
  cancelled: "dim",
  unreadable: "red",
  moving: "magenta",
  moved: "dim",
  copied: "dim",
};

export function statusOf(status: string): Painted {
  return painted(paints[status] ?? "bold", status);
}
