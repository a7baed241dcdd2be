//! Certificates, keys and tokens from files.

use std::{fs, path::Path, sync::Arc};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::{CryptoProvider, ring},
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use super::{MetricsError, config::TlsFiles};

/// A token as it is compared, and never shown.
pub struct Token(String);

impl Token {
    /// The text of a file, without spaces around it.
    ///
    /// # Errors
    ///
    /// When it can't be read, or there is none in it.
    pub fn read(key: &'static str, path: &Path) -> Result<Token, MetricsError> {
        let text = fs::read_to_string(path).map_err(|source| MetricsError::File { key, path: path.into(), source })?;
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let what = "is no token: it needs one line of visible ASCII characters".to_owned();
            return Err(MetricsError::Content { key, path: path.into(), what });
        }
        Ok(Token(token.to_owned()))
    }

    /// Whether this header shows it; takes the same time wherever the two differ.
    #[must_use]
    pub fn is_shown(&self, header: Option<&[u8]>) -> bool {
        use subtle::ConstantTimeEq as _;
        let shown = header.and_then(|header| header.split_first_chunk::<7>());
        shown.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(token.ct_eq(self.0.as_bytes()))
        })
    }

    /// As a header shows it.
    #[must_use]
    pub fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

/// The rules of encryption, the same for servers and pushes.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What a server shows its clients.
///
/// # Errors
///
/// When a file can't be read or used.
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, MetricsError> {
    let certificates = certificates("metrics.tls.certificate", &files.certificate)?;
    let key_path = &files.key;
    let pem = read("metrics.tls.key", key_path)?;
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| MetricsError::Content {
        key: "metrics.tls.key",
        path: key_path.clone(),
        what: format!("has no private key in PEM form: {error}"),
    })?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|source| MetricsError::Tls { key: "metrics.tls", source })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What a client believes: the authorities of this file, or none.
///
/// # Errors
///
/// When the file can't be read or used.
pub fn client(key: &'static str, authorities: Option<&Path>) -> Result<ClientConfig, MetricsError> {
    let unusable = |source| MetricsError::Tls { key, source };
    let mut roots = RootCertStore::empty();
    for certificate in authorities.map_or(Ok(Vec::new()), |path| certificates(key, path))? {
        roots.add(certificate).map_err(unusable)?;
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    Ok(builder.map_err(unusable)?.with_root_certificates(roots).with_no_client_auth())
}

fn certificates(key: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, MetricsError> {
    let pem = read(key, path)?;
    let content = |what: String| MetricsError::Content { key, path: path.into(), what };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(content("has no certificate in PEM form".to_owned())),
        Err(error) => Err(content(format!("has no certificate in PEM form: {error}"))),
    }
}

/// The bytes of a file.
///
/// # Errors
///
/// When it can't be read.
pub fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, MetricsError> {
    fs::read(path).map_err(|source| MetricsError::File { key, path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_whole_or_not_at_all() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "  s3cret\n").unwrap();
        let token = Token::read("metrics.token_file", file.path()).unwrap();
        assert!(token.is_shown(Some(b"Bearer s3cret")) && token.is_shown(Some(b"bearer s3cret")));
        for wrong in [&b"Bearer s3cre"[..], b"Bearer s3crett", b"Basic s3cret", b"s3cret", b""] {
            assert!(!token.is_shown(Some(wrong)));
        }
        assert!(!token.is_shown(None));
        fs::write(file.path(), "two words\n").unwrap();
        let error = Token::read("metrics.token_file", file.path()).err().unwrap();
        assert!(error.to_string().contains("metrics.token_file"), "{error}");
    }

    #[test]
    fn files_without_what_they_should_have_are_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let files = TlsFiles { certificate: file.path().into(), key: file.path().into() };
        let error = acceptor(&files).err().unwrap();
        assert!(error.to_string().contains("has no certificate in PEM form"), "{error}");
        let files = TlsFiles { certificate: "/nowhere.pem".into(), ..files };
        assert!(acceptor(&files).err().unwrap().to_string().contains("/nowhere.pem"));
    }
}
