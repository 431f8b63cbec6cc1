// Days as the gateway formats them.

// dayOf returns the local date as the gateway formats it.
export function dayOf(t: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
}

// midnight returns the start of a day.
export function midnight(daysAgo: number): Date {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo);
}
