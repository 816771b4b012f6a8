// Keeps what a page is known by in a room in this browser, for as long as a room lasts: a reload, a
// second tab or a phone that was asleep go on where they were. The server reads it as they connect.
export default function ({ data }) {
  const { name, value, seconds } = data;
  document.cookie = `${name}=${value}; max-age=${seconds}; path=/; SameSite=Strict`;
}
