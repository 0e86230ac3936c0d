/** How long all threads of this process work for an action, in milliseconds: other work on the machine changes it little. */
export async function cpuTimeOf(action: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
