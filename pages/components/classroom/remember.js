// Stores the token of a room in a cookie for as long as a room lasts, so that a reload, a second tab
// or a phone that was asleep continue as the same student. The server reads it when they connect.
export default function ({ data }) {
  const { name, value, seconds } = data;
  document.cookie = `${name}=${value}; max-age=${seconds}; path=/; SameSite=Strict`;
}
