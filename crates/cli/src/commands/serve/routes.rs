//! Decides what a request asks for and whether it is allowed, from its method, its Host and its
//! address alone.
//!
//! A page of another site can make a browser send requests here. The request may even use a name of
//! that site that leads to this machine (DNS rebinding). It then names that site as its host, and
//! is refused. No request changes anything.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;

/// Allowed requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// List of all studies.
    List,
    /// Classic benchmarks among the studies, then and now.
    Suite,
    /// Study with this name.
    Study(String),
    /// Comparison of two studies.
    Compare {
        /// Name of BASE.
        base: String,
        /// Name of NEW.
        new: String,
    },
}

/// Reasons to refuse a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Method other than GET and HEAD.
    Method,
    /// Host that is not a name of this machine.
    Host,
    /// Address without content.
    Unknown,
}

impl Refusal {
    /// HTTP status of the refusal.
    pub(super) const fn status(&self) -> u16 {
        match self {
            Self::Method => 405,
            Self::Host => 403,
            Self::Unknown => 404,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "only GET and HEAD are answered\n",
            Self::Host => "this server answers only on localhost and 127.0.0.1\n",
            Self::Unknown => "there is no such page; / lists the studies\n",
        })
    }
}

/// Parses a request that arrived at `port`.
pub(super) fn parse_route(method: &str, hosts: &[&str], port: u16, url: &str) -> Result<Route, Refusal> {
    if !matches!(method, "GET" | "HEAD") {
        return Err(Refusal::Method);
    }
    let own_hosts = ["localhost", "127.0.0.1"].map(|name| format!("{name}:{port}"));
    let is_own_host = |host: &str| own_hosts.iter().any(|name| host.eq_ignore_ascii_case(name));
    if !matches!(hosts, [host] if is_own_host(host)) {
        return Err(Refusal::Host);
    }
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let text = |part: &str| {
        percent_decode_str(part).decode_utf8().map(Cow::into_owned).map_err(|_| Refusal::Unknown)
    };
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        text(pairs.find(|(key, _)| *key == name).ok_or(Refusal::Unknown)?.1)
    };
    match path {
        "/" => Ok(Route::List),
        "/suite" => Ok(Route::Suite),
        "/compare" => Ok(Route::Compare { base: parameter("base")?, new: parameter("new")? }),
        _ => Ok(Route::Study(text(path.strip_prefix("/study/").ok_or(Refusal::Unknown)?)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(url: &str) -> Result<Route, Refusal> {
        parse_route("GET", &["localhost:7373"], 7373, url)
    }

    #[test]
    fn addresses_select_the_response() {
        assert_eq!(get("/"), Ok(Route::List));
        assert_eq!(get("/suite"), Ok(Route::Suite));
        assert_eq!(get("/study/make.study"), Ok(Route::Study("make.study".to_owned())));
        assert_eq!(get("/study/a%20b%2Fc.study"), Ok(Route::Study("a b/c.study".to_owned())));
        let (base, new) = ("a&b.study".to_owned(), "c.study".to_owned());
        assert_eq!(get("/compare?base=a%26b.study&new=c.study"), Ok(Route::Compare { base, new }));
        for wrong in ["/etc/passwd", "/study", "/compare?base=a", "//", "/study/%ff", ""] {
            assert_eq!(get(wrong), Err(Refusal::Unknown), "{wrong}");
        }
    }

    #[test]
    fn requests_under_another_host_name_are_refused() {
        let others = [
            "evil.example:7373",
            "localhost",
            "localhost:80",
            "127.0.0.1.evil.example:7373",
            "[::1]:7373",
            "",
        ];
        for host in others {
            assert_eq!(parse_route("GET", &[host], 7373, "/"), Err(Refusal::Host), "{host}");
        }
        assert_eq!(parse_route("GET", &[], 7373, "/"), Err(Refusal::Host));
        assert_eq!(parse_route("GET", &["localhost:7373", "evil.example"], 7373, "/"), Err(Refusal::Host));
        assert_eq!(parse_route("POST", &["localhost:7373"], 7373, "/"), Err(Refusal::Method));
        assert_eq!(parse_route("GET", &["LOCALHOST:7373"], 7373, "/"), Ok(Route::List));
        assert_eq!(parse_route("HEAD", &["127.0.0.1:7373"], 7373, "/"), Ok(Route::List));
    }
}
