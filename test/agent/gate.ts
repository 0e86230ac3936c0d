/** Something a test waits for, and opens. */
export function gate<Value = void>(): { readonly opened: Promise<Value>; readonly open: (value: Value) => void } {
  let open: (value: Value) => void = () => undefined;
  const opened = new Promise<Value>((resolve) => (open = resolve));
  return { opened, open };
}
