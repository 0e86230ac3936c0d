import { type Task, TaskManager, type TaskStatus } from "../../task.ts";
import { type AgentOptions, storedAgents } from "../session/storedAgents.ts";
import { findAgent } from "../ids/findLog.ts";
import { statusOf } from "../reading/shown.ts";
import type { Session } from "../session/Session.ts";
import { type Part, painted } from "../terminal/painted.ts";

export interface TaskListOptions extends AgentOptions {
  readonly status?: TaskStatus | undefined;
  readonly limit: number;
}

export interface TaskChangeOptions extends AgentOptions {
  readonly reason?: string | undefined;
}

export async function listTasks(session: Session, options: TaskListOptions): Promise<void> {
  const { output } = session;
  const { storage } = await storedAgents(session, options, "read");
  const rows: (readonly Part[])[] = [];
  const limit = options.limit === 0 ? Infinity : options.limit;
  for await (const task of new TaskManager({ storage }).list({ status: options.status, limit })) {
    if (output.json) await output.item(task);
    else
      rows.push([task.taskId, statusOf(task.status), task.taskName, String(task.priority), output.ago(task.updatedAt)]);
  }
  if (output.json) return;
  if (rows.length === 0) return output.note("There are no tasks.");
  await output.table(["TASK", "STATUS", "NAME", "PRIORITY", "UPDATED"], rows);
}

type Change = (tasks: TaskManager, taskId: string, reason: string | undefined) => Promise<Task>;

const changes = {
  pause: {
    says: "is paused; its run is stopped",
    run: (tasks, taskId, reason) => tasks.pause(taskId, reason ?? "paused on the command line"),
  },
  resume: { says: "continues; a worker runs it", run: (tasks, taskId) => tasks.resume(taskId) },
  cancel: {
    says: "is canceled permanently; its run is stopped, and the effects of the run remain",
    run: (tasks, taskId, reason) => tasks.cancel(taskId, reason),
  },
  retry: { says: "is queued again", run: (tasks, taskId) => tasks.retry(taskId) },
} satisfies Readonly<Record<string, { readonly says: string; readonly run: Change }>>;

export function changeTask(name: keyof typeof changes) {
  return async (session: Session, options: TaskChangeOptions, given: string): Promise<void> => {
    const { output } = session;
    const { storage } = await storedAgents(session, options, "write");
    const taskId = await findAgent(storage, given, "task");
    const { says, run }: { readonly says: string; readonly run: Change } = changes[name];
    await session.confirm(["The task ", painted("bold", taskId), ` ${says}.`]);
    const task = await run(new TaskManager({ storage }), taskId, options.reason);
    await output.result(task, painted("bold", taskId), " is ", statusOf(task.status), ".");
  };
}
